-- Starts the oldest instant that waits for a unit.
-- ARGV: prefix, epoch, run_id, then TAKE_NAMES
-- needs prelude_slots.lua
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
return answer('OK', take(take_args(4)))
