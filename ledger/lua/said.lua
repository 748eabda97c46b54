-- What was told of a dead owner, or of the earlier lives of a node, is in a log: it need not be told again.
-- ARGV: prefix, epoch, run_id, owner or '', node, life
-- needs prelude_deaths.lua
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
local owner, node, life = ARGV[4], ARGV[5], tonumber(ARGV[6])

local function said(occ, r)
  redis.call('HSET', P .. 'o:' .. occ, 'said', '1')
  if r.ending ~= '1' then
    forget_owner(occ, r)
  end
end

for _, occ in ipairs(redis.call('SMEMBERS', owner ~= '' and P .. 'w:' .. owner or P .. 'nr:' .. node)) do
  local r = record(occ)
  if r.state ~= '' and r.state ~= 'running' and (owner ~= '' or tonumber(r.life) < life) then
    said(occ, r)
  end
end
for _, dead in ipairs(owner ~= '' and { owner } or owners_before(node, life)) do
  redis.call('DEL', P .. 'g:' .. dead, P .. 'f:' .. dead, P .. 'e:' .. dead)
  redis.call('HDEL', P .. 'gn:' .. node, dead)
end
return answer('OK')
