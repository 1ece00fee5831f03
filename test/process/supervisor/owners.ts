// Owners in processes of their own, driven and killed by a test: `ownerHost` with what is preloaded into it.
import { build } from 'esbuild'
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { HostOptions } from './ownerHost'
import { dist, eventually, type Printed, type Stage } from './stage'

export interface Bundles {
  readonly folder: string
  clear(): void
}

/** Builds what the owners run, once per test file. */
export async function bundleOwners(): Promise<Bundles> {
  const folder = mkdtempSync(join(tmpdir(), 'cxs-owner-'))
  const entryPoints = Object.fromEntries(
    ['ownerHost', 'killAt', 'clock'].map((name) => [name, `test/process/supervisor/${name}.ts`]),
  )
  await build({ entryPoints, outdir: folder, bundle: true, platform: 'node', format: 'cjs', target: 'node20' })
  return { folder, clear: () => rmSync(folder, { recursive: true, force: true }) }
}

/** A file with what an owner of this stage needs; `set`: its settings. */
export function ownerOptions(stage: Stage, set: Record<string, unknown>): string {
  const options: HostOptions = { folder: stage.repo, dist, environment: stage.environment, set }
  return stage.file(JSON.stringify(options), 'owner.json')
}

export class Owner {
  /** Resolves with the signal or code that ended it. */
  readonly gone: Promise<void>
  /** What it logged as an error, and an end that was nobody's wish. */
  readonly errors: Printed[] = []
  readonly pid: number
  isGone = false
  private readonly process: ChildProcess
  private readonly answers = new Map<number, (answer: Printed) => void>()
  private readonly said: Printed[] = []
  private n = 0

  constructor(bundles: Bundles, stage: Stage, options: string, env: Record<string, string> = {}) {
    const preloaded = ['killAt', 'clock'].flatMap((name) => ['-r', join(bundles.folder, `${name}.js`)])
    this.process = spawn(
      process.execPath,
      ['--expose-gc', ...preloaded, join(bundles.folder, 'ownerHost.js'), options],
      {
        env: { ...stage.environment, ...env },
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    )
    this.pid = this.process.pid ?? 0
    this.process.stdin?.on('error', () => undefined)
    let stderr = ''
    this.process.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    if (this.process.stdout !== null)
      createInterface({ input: this.process.stdout }).on('line', (line) => {
        const object = JSON.parse(line)
        if ('n' in object) this.answers.get(object.n)?.(object.answer)
        else if ('error' in object) this.errors.push(object)
        else this.said.push(object)
      })
    this.gone = new Promise((resolve) =>
      this.process.once('close', (code, signal) => {
        if (signal !== 'SIGKILL') this.errors.push({ ended: signal ?? code, stderr })
        this.isGone = true
        for (const answer of this.answers.values()) answer(undefined)
        resolve()
      }),
    )
  }

  /** Whether it owns the store; undefined: it died before it could say. */
  async owns(): Promise<boolean | undefined> {
    await eventually(() => this.isGone || this.said.length > 0, 'it has tried to own the store', 60_000)
    return this.said[0]?.owns as boolean | undefined
  }

  async recovered(): Promise<void> {
    await eventually(() => this.isGone || this.said.some(({ recovered }) => recovered), 'it has recovered', 60_000)
  }

  /** Undefined: it died before it answered. */
  async ask(name: string, request: object): Promise<Printed> {
    if (this.isGone) return undefined
    const n = ++this.n
    return await new Promise((resolve) => {
      this.answers.set(n, resolve)
      this.process.stdin?.write(`${JSON.stringify({ n, name, request })}\n`)
    })
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal)
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.gone
  }
}
