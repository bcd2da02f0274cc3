-- Puts the snapshot ARGV[2] in the place of the entries up to ARGV[1], and forgets leases of runs up to there that ARGV[3] does not name.
-- Says where the log ends.
local head, log, snapshot, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local numbers = redis.call('HMGET', head, 'last', 'base')
local last, base = numbers[1] or '0', tonumber(numbers[2] or '0')
local index = tonumber(ARGV[1])
if index > tonumber(last) or index <= base then
    return last
end
local members = {}
for _, run in ipairs(cjson.decode(ARGV[3])) do
    members[run] = true
end
redis.call('SET', snapshot, ARGV[2])
redis.call('LTRIM', log, index - base, -1)
redis.call('HSET', head, 'base', ARGV[1])
for _, run in ipairs(redis.call('HKEYS', leases)) do
    if tonumber(run) <= index and not members[run] then
        redis.call('HDEL', leases, run)
    end
end
return last
