// Real keepers with small real agents, in a folder of their own; afterwards nothing of them is left running.
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { attemptFiles } from '../../src/process/attemptFiles'
import { endOrphan } from '../../src/process/endOrphan'
import { parseIdentity, signalProcess } from '../../src/process/identity'
import type { KeeperLink } from '../../src/process/keeperLink'
import { launchDefaults, type ExitRecord, type Launch } from '../../src/process/launch'
import type { RawLine } from '../../src/process/lines'
import { startKeeper, type StartOptions } from '../../src/process/startKeeper'

export const keeperFile = resolve('dist/keeper.js')

export interface Place {
  readonly root: string
  readonly attemptDir: string
  readonly socketDir: string
  readonly worktree: string
  readonly marker: string
}

const places: Place[] = []

export async function makePlace(): Promise<Place> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'cxs-')))
  const place = {
    root,
    attemptDir: join(root, 'attempt-1'),
    socketDir: join(root, 's'),
    worktree: join(root, 'worktree'),
    marker: randomUUID(),
  }
  for (const folder of [place.attemptDir, place.socketDir, place.worktree]) await mkdir(folder, { mode: 0o700 })
  places.push(place)
  return place
}

/** Ends whatever a test left running and removes its folders. For afterEach. Throws what a keeper had not foreseen. */
export async function clearPlaces(): Promise<void> {
  const unforeseen: string[] = []
  for (const place of places.splice(0)) {
    const text = await readFile(attemptFiles(place.attemptDir).keeper, 'utf8').catch(() => 'null')
    const keeper = parseIdentity(JSON.parse(text))
    if (keeper !== undefined) signalProcess(keeper, 'SIGKILL')
    await endOrphan({ attemptDir: place.attemptDir, marker: place.marker, agent: undefined, graceMs: 0 })
    unforeseen.push(await readFile(join(place.attemptDir, 'keeper.log'), 'utf8').catch(() => ''))
    // A keeper that was just killed may still be in the middle of a write.
    await rm(place.root, { recursive: true, force: true, maxRetries: 5 })
  }
  const log = unforeseen.filter((text) => text.includes('unforeseen')).join('')
  if (log !== '') throw new Error(log)
}

export type Agent =
  { readonly bash: string } | { readonly node: string } | { readonly file: string; readonly args: readonly string[] }

export function program(agent: Agent): { file: string; args: readonly string[] } {
  if ('bash' in agent) return { file: '/bin/bash', args: ['-c', agent.bash] }
  if ('node' in agent) return { file: process.execPath, args: ['-e', agent.node] }
  return agent
}

export function launchOf(place: Place, agent: Agent, more: Partial<Launch> = {}): Launch {
  return {
    v: 1,
    childId: 'child-1',
    attempt: 1,
    marker: place.marker,
    ...program(agent),
    cwd: place.worktree,
    environmentNames: ['PATH'],
    secretNames: [],
    input: 'open',
    wallLimitMs: null,
    ...launchDefaults,
    afterWindowCloses: 'keep',
    ...more,
  }
}

export async function write(path: string, data: string): Promise<void> {
  await writeFile(`${path}.tmp`, data, { mode: 0o600 })
  await rename(`${path}.tmp`, path)
}

export const startOptions = (
  place: Place,
  agent: Agent,
  more: Partial<Launch> = {},
  environment: Record<string, string | undefined> = process.env,
): StartOptions => ({
  nodePath: process.execPath,
  keeperFile,
  attemptDir: place.attemptDir,
  socketDir: place.socketDir,
  launch: launchOf(place, agent, more),
  environment,
  write,
  epoch: 1,
})

export const start = (
  place: Place,
  agent: Agent,
  more: Partial<Launch> = {},
  environment: Record<string, string | undefined> = process.env,
): Promise<KeeperLink> => startKeeper(startOptions(place, agent, more, environment))

/** Lines as they come in, and a way to wait for one. */
export class Heard {
  readonly lines: RawLine[] = []
  readonly done: Promise<void>
  #wakers: (() => void)[] = []

  constructor(link: KeeperLink) {
    this.done = link.follow((lines) => {
      this.lines.push(...lines)
      for (const wake of this.#wakers.splice(0)) wake()
    })
    this.done.catch(() => {
      for (const wake of this.#wakers.splice(0)) wake()
    })
  }

  texts(source = 'stdout'): string[] {
    return this.lines.flatMap((line) => (line.kind === 'line' && line.source === source ? [line.text] : []))
  }

  async until(wanted: string | ((texts: string[]) => boolean), source = 'stdout'): Promise<void> {
    const met = typeof wanted === 'string' ? (texts: string[]) => texts.includes(wanted) : wanted
    const deadline = performance.now() + 20_000
    while (!met(this.texts(source))) {
      const left = deadline - performance.now()
      if (left <= 0)
        throw new Error(`not heard in time: ${String(wanted)}; heard ${JSON.stringify(this.texts(source))}`)
      await new Promise<void>((wake) => {
        const timer = setTimeout(wake, left)
        this.#wakers.push(() => {
          clearTimeout(timer)
          wake()
        })
      })
    }
  }
}

/** Follows to the end and acknowledges it. */
export async function toTheEnd(link: KeeperLink): Promise<{ exit: ExitRecord; heard: Heard }> {
  const heard = new Heard(link)
  await heard.done
  const exit = await link.ended
  await link.acknowledgeExit()
  return { exit, heard }
}

/** Polls a fact that nothing announces, with a deadline. */
export async function eventually<T>(fact: () => T | Promise<T>, what: string, ms = 15_000): Promise<NonNullable<T>> {
  const deadline = performance.now() + ms
  for (;;) {
    const value = await fact()
    if (value !== undefined && value !== null && value !== false) return value
    if (performance.now() > deadline) throw new Error(`never came true: ${what}`)
    await new Promise((next) => setTimeout(next, 10))
  }
}
