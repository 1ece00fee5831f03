// Claude Code in a terminal, as a person has it there: its real program in the repository, turn by turn, with the
// configuration in its home and a loopback model server.
import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import path from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { agentsFolder } from '../../scripts/installAgents.mjs'
import type { TestHome } from './harness/testHome.js'

const claudeProgram = path.join(agentsFolder, 'claude/node_modules/.bin/claude')

/** Its home is the person's; whatever it wants of the network comes to the loopback server. */
export const terminalEnvironment = ({ env }: TestHome, models: string, key: string): NodeJS.ProcessEnv => ({
  ...env,
  ANTHROPIC_BASE_URL: models,
  ANTHROPIC_API_KEY: key,
  HTTPS_PROXY: models,
  HTTP_PROXY: models,
  NO_PROXY: '127.0.0.1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_TELEMETRY: '1',
})

/** Runs a line that a person was given for their terminal. */
export function inTerminal(line: string, cwd: string, env: NodeJS.ProcessEnv): string {
  const withClaude = { ...env, PATH: `${path.dirname(claudeProgram)}:${env.PATH}` }
  return execFileSync('/bin/sh', ['-c', line], { cwd, env: withClaude, encoding: 'utf8' })
}

export class TerminalClaude {
  private readonly lines: Interface

  private constructor(private readonly process: ChildProcessWithoutNullStreams) {
    this.lines = createInterface({ input: process.stdout })
    process.stderr.resume()
  }

  /** `allowed`: tools it need not ask for. */
  static start(cwd: string, env: NodeJS.ProcessEnv, allowed: string, ...args: string[]): TerminalClaude {
    const stream = ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose']
    return new TerminalClaude(spawn(claudeProgram, ['-p', ...stream, '--allowedTools', allowed, ...args], { cwd, env }))
  }

  /** Says something and resolves once its turn is over, with its last words. */
  async turn(text: string): Promise<string> {
    this.process.stdin.write(`${JSON.stringify({ type: 'user', message: { role: 'user', content: text } })}\n`)
    return await new Promise((resolve, reject) => {
      const line = (text: string): void => {
        const { type, result } = JSON.parse(text) as { type: string; result?: string }
        if (type === 'result') over(() => resolve(result ?? ''))
      }
      const gone = (): void => over(() => reject(new Error('Claude Code ended in the middle of its turn')))
      const over = (then: () => void): void => {
        this.lines.off('line', line)
        this.process.off('exit', gone)
        then()
      }
      this.lines.on('line', line)
      this.process.on('exit', gone)
    })
  }

  /** As when its terminal is closed. */
  async kill(): Promise<void> {
    const gone = new Promise((resolve) => this.process.once('exit', resolve))
    this.process.kill('SIGKILL')
    await gone
  }
}
