-- ARGV: prefix, unit
local cursor = redis.call('HGET', P .. 'u:' .. ARGV[2], 'cursor') or ''
local slots = P .. 'ur:' .. ARGV[2]
return answer('OK', cursor, tostring(redis.call('SCARD', slots)), redis.call('SRANDMEMBER', slots) or '')
