-- The leader of the term ARGV[1] has counted to ARGV[2].
if redis.call('HGET', KEYS[1], 'term') == ARGV[1] then
    redis.call('HSET', KEYS[1], 'beat', ARGV[2])
end
