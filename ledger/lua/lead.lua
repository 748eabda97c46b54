-- A new term for the node's timer worker.
-- ARGV: prefix, epoch, run_id, node, life
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
local key = P .. 'nt:' .. ARGV[4]
redis.call('HINCRBY', key, 'term', 1)
redis.call('HSET', key, 'life', ARGV[5])
return answer('OK', redis.call('HGET', key, 'term'))
