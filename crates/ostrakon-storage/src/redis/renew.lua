-- Counts the lease of ARGV[1] up to ARGV[2], which knows of ARGV[3], unless it is there already.
local leases = KEYS[4]
local lease = redis.call('HGET', leases, ARGV[1])
if not lease then
    return 'ended'
end
if tonumber(string.match(lease, '^%d+')) < tonumber(ARGV[2]) then
    redis.call('HSET', leases, ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
end
return 'counted'
