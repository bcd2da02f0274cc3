-- What lies behind ARGV[1]: the end of the log, the index before the entries, a snapshot if that was asked for, and the entries,
-- at most ARGV[2] of them and not much more than ARGV[3] bytes.
local head, log, snapshot = KEYS[1], KEYS[2], KEYS[3]
local numbers = redis.call('HMGET', head, 'last', 'base')
local base = tonumber(numbers[2] or '0')
local behind, most, most_bytes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local state = false
if behind < base then
    state = redis.call('GET', snapshot)
    behind = base
end
local entries, bytes, step = {}, 0, 32
while #entries < most and bytes <= most_bytes do
    local from = behind - base + #entries
    local part = redis.call('LRANGE', log, from, from + math.min(step, most - #entries) - 1)
    if #part == 0 then
        break
    end
    for _, entry in ipairs(part) do
        if bytes > most_bytes then
            break
        end
        entries[#entries + 1] = entry
        bytes = bytes + #entry
    end
end
return {numbers[1] or '0', string.format('%.0f', behind), state, entries}
