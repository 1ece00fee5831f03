// Our own programs, and the Node they run with: the keeper, the bundled demo agent, and the command line.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bundled } from '../agents/demo'
import { nodeCandidates, probeNode } from '../process/probeNode'
import { writeWhole } from '../record/atomicWrite'
import type { StorePaths } from '../record/paths'
import type { CoxswainOptions } from './coxswain'
import { writeLauncher } from './launcher'
import { problem, type Problem } from './problem'
import { sha256 } from './verifyChild'

export class OwnPrograms {
  constructor(
    private readonly options: Pick<CoxswainOptions, 'dist' | 'environment' | 'settings'>,
    private readonly paths: Pick<StorePaths, 'bin' | 'demoSessions'>,
  ) {}

  async node(): Promise<string | Problem> {
    const { nodePath } = this.options.settings()
    const probe = await probeNode(nodePath === '' ? nodeCandidates(this.options.environment['PATH']) : [nodePath])
    if (probe.found !== undefined) return probe.found.path
    const tried = probe.tried.map(({ path, why }) => `${path} (${why})`).join(', ')
    return problem(
      `No Node of version 20 or newer was found to run agents with: ${tried}. Install Node, or set coxswain.nodePath.`,
    )
  }

  async bundled(): Promise<Bundled | Problem> {
    const node = await this.node()
    if (typeof node !== 'string') return node
    return {
      node: { file: node, env: { ELECTRON_RUN_AS_NODE: '1' } },
      demoScript: join(this.options.dist, 'demoAgent.js'),
      demoSessions: this.paths.demoSessions,
    }
  }

  /** Absent Node: the place where it will be once there is one; nothing can be started before. */
  async launcher(): Promise<string> {
    const node = await this.node()
    const cli = join(this.options.dist, 'cli.js')
    return typeof node === 'string' ? await writeLauncher(this.paths.bin, node, cli) : join(this.paths.bin, 'coxswain')
  }

  /** The keeper outlives an extension's folder, so it runs from a copy named by its content. */
  async keeper(): Promise<string> {
    const source = await readFile(join(this.options.dist, 'keeper.js'), 'utf8')
    const target = join(this.paths.bin, `keeper-${sha256(source).slice(0, 16)}.js`)
    if (!existsSync(target)) await writeWhole(target, source)
    return target
  }
}
