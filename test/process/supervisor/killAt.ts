// Preloaded into a process that is to die at a certain point: it kills itself, as `kill -9` would, at the k-th thing of a
// kind that it does to the disk or to the process table. KILL_AT names the point; without it nothing happens.
import childProcess from 'node:child_process'
import fsp, { type FileHandle } from 'node:fs/promises'

export interface KillPoint {
  /** `any` counts everything below. */
  readonly op: 'spawn' | 'write' | 'link' | 'rename' | 'rm' | 'any'
  /** What the command line, the bytes or the paths must hold. */
  readonly contains?: string
  /** `synced`: once what was written is on the medium. */
  readonly when: 'before' | 'after' | 'synced'
  readonly nth?: number
}

const die = (): void => {
  process.kill(process.pid, 'SIGKILL')
}

function arm(point: KillPoint): void {
  let left = point.nth ?? 1
  /** Whether this is the one. */
  const fits = (op: KillPoint['op'], text: () => string): boolean => {
    if (point.op !== 'any' && point.op !== op) return false
    if (point.contains !== undefined && !text().includes(point.contains)) return false
    return --left === 0
  }
  const { spawn } = childProcess
  childProcess.spawn = function (this: unknown, ...args: unknown[]) {
    const now = fits('spawn', () => args.slice(0, 2).flat().join(' '))
    if (now && point.when === 'before') die()
    const child: unknown = Reflect.apply(spawn, this, args)
    if (now) die()
    return child
  } as typeof spawn

  for (const op of ['link', 'rename', 'rm'] as const) {
    const act: (...args: never[]) => Promise<unknown> = fsp[op]
    Reflect.set(fsp, op, async (...args: never[]) => {
      const now = fits(op, () => args.join(' '))
      if (now && point.when === 'before') die()
      const done = await act(...args)
      if (now) die()
      return done
    })
  }

  const { open } = fsp
  let patched = false
  let dieOnceSynced = false
  fsp.open = async (...args: Parameters<typeof open>) => {
    const handle = await open(...args)
    if (patched) return handle
    patched = true
    const prototype = Object.getPrototypeOf(handle) as FileHandle
    const write: (...args: never[]) => Promise<unknown> = Reflect.get(prototype, 'write')
    Reflect.set(prototype, 'write', async function (this: FileHandle, ...written: unknown[]) {
      const now = fits('write', () => String(written[0]))
      if (now && point.when === 'before') die()
      const done = await (write as (...args: unknown[]) => Promise<unknown>).apply(this, written)
      if (now && point.when === 'synced') dieOnceSynced = true
      else if (now) die()
      return done
    })
    const datasync: () => Promise<void> = Reflect.get(prototype, 'datasync')
    Reflect.set(prototype, 'datasync', async function (this: FileHandle) {
      await Reflect.apply(datasync, this, [])
      if (dieOnceSynced) die()
    })
    return handle
  }
}

const point = process.env['KILL_AT']
// Not for what this process starts.
delete process.env['KILL_AT']
if (point !== undefined) arm(JSON.parse(point) as KillPoint)
