-- Appends behind ARGV[1].after, if that is the end and the leases named are as they were seen. Looks at everything before it writes.
local head, log, leases = KEYS[1], KEYS[2], KEYS[4]
local batch = cjson.decode(ARGV[1])
if (redis.call('HGET', head, 'last') or '0') ~= batch.after then
    return {'conflict', ''}
end
for _, lease in ipairs(batch.unmoved) do
    if redis.call('HGET', leases, lease[1]) ~= lease[2] then
        return {'renewed', lease[1]}
    end
end
for i = 2, #ARGV do
    redis.call('RPUSH', log, ARGV[i])
end
redis.call('HSET', head, 'last', batch.last)
if batch.term ~= '' then
    redis.call('HSET', head, 'term', batch.term, 'beat', '0')
end
for _, run in ipairs(batch.begun) do
    redis.call('HSET', leases, run, '0 0')
end
for _, run in ipairs(batch.ended) do
    redis.call('HDEL', leases, run)
end
redis.call('PUBLISH', batch.channel, batch.last)
return {'done', ''}
