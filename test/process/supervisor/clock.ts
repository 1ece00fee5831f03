// Preloaded into a process whose wall clock is to jump: on SIGUSR2 it takes the offset, in milliseconds, from the file that
// CLOCK_FILE names. The monotonic clock and the timers stay as they are, as they do when a real clock is set.
import { readFileSync } from 'node:fs'

const file = process.env['CLOCK_FILE']
delete process.env['CLOCK_FILE']
if (file !== undefined) {
  const RealDate = Date
  let offset = 0
  process.on('SIGUSR2', () => (offset = Number(readFileSync(file, 'utf8'))))
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, as) =>
      Reflect.construct(target, args.length === 0 ? [target.now() + offset] : args, as) as Date,
    get: (target, name) => (name === 'now' ? () => target.now() + offset : Reflect.get(target, name)),
  })
}
