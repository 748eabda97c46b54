-- ARGV: prefix, unit
local cursor = redis.call('HGET', P .. 'u:' .. ARGV[2], 'cursor') or ''
local slots = P .. 'ur:' .. ARGV[2]
local taken = redis.call('SMEMBERS', slots)
-- The same one as a claim is told of, when nobody comes or goes.
local occ = taken[#taken] or ''
return answer('OK', cursor, tostring(#taken), occ, redis.call('HGET', P .. 'o:' .. occ, 'seq') or '0',
  tostring(redis.call('ZCARD', P .. 'q:' .. ARGV[2])))
