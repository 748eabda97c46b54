-- Units with instants that wait, a page of them; those of other nodes are left out.
-- ARGV: prefix, node, where to go on ('0': from the beginning). Answers where to go on, '0' at the end, and for each
-- unit its scope, task and shard, how many wait, how many run, and the oldest.
local page = redis.call('HSCAN', P .. 'qs', ARGV[3], 'COUNT', 100)
local answers = answer('OK', page[1])

for i = 1, #page[2], 2 do
  local unit, row = page[2][i], cjson.decode(page[2][i + 1])
  local first = redis.call('ZRANGE', P .. 'q:' .. unit, 0, 0)[1]
  if first and (row[1] == '' or row[1] == ARGV[2]) then
    row[4] = tostring(redis.call('ZCARD', P .. 'q:' .. unit))
    row[5] = tostring(redis.call('SCARD', P .. 'ur:' .. unit))
    row[6] = redis.call('HGET', P .. 'o:' .. first, 'planned') or ''
    answers[#answers + 1] = row
  end
end
return answers
