// Reads the command line, opens the store where a command needs it, and hands over to the command. Exit codes: 0 done,
// 1 a child did not succeed, 2 usage or refusal, 3 partly verified, 130 interrupted, 141 nobody read its output any more.
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Coxswain, CoxswainOptions } from '../supervisor/coxswain'
import { openCoxswain } from '../supervisor/openCoxswain'
import { flagOptions, type Flags, type Invocation } from './invocation'
import { standardOutput, UsageError, type Output } from './output'
import { agents, act, answer, list, result, resume, show, steer, takeOver, transcript, withdraw } from './commands'
import { audit, automate, decide, verify } from './judging'
import { contract } from './contractFile'
import { doctor } from './doctor'
import { machineSettings } from './machineSettings'
import { run } from './run'
import { setup } from './setup'
import { supervise } from './supervise'
import { isForeseen, troubleInWords } from '../supervisor/troubleInWords'

const usage = `Usage: coxswain COMMAND [options]

  run --task FILE|- [--detach]   dispatch children and wait for their completions (--detach: return with the handle)
                                 --contract FILE: for each task that has none of its own
  contract FILE | --template report|code|table
                                 what a contract file demands; a contract to begin from
  list [--all]                   live children; --all: those that ended too, newest first
  show ID                        one child: worktree, steers with their receipts, attempts
  transcript ID [--follow]       what it said and did
  result ID [--round N]          its completion; {"ready": false} while it runs
  steer ID TEXT|-                a correction it reads with its next tool result
  withdraw STEER_ID              take back a steer that was not handed over yet
  answer REQUEST_ID TEXT|--allow|--deny WHY|--revoke
                                 --revoke: take back what was allowed for the whole child; show ID lists it
  interrupt ID [--reason R]      pause it: session, worktree and branch are kept
  resume ID [TEXT|-]             go on, with a new instruction
  takeover ID                    pause it and print the command that goes on with its session in your terminal;
                                 end that before you hand it back with resume
  stop ID [--reason R]           call it off
  adopt ID                       make a child your own whose parent is away
  verify ID                      run the checks of its contract again
  apply ID [--squash | --patch] [--override CHECK]...
                                 bring its work into the checked-out branch
  discard ID [--force]           remove its worktree and branch
  decide [ID|-]                  what to do with a live child: wait, steer or stop, and why
  decide ID --apply | --dismiss  do what is suggested for it, or say that it is not wanted
  automate ID [--off]            let what is suggested for it be done by itself, up to its spend ceiling
  audit [--check]                the trail of deeds (--json: as it is on disk); --check follows its chain
  doctor                         reconcile the store with git and the processes
  setup                          how new worktrees are made ready, and what the repository offers
  setup set [--copy GLOB]... [--seconds N] [-- COMMAND ARG...]
                                 copy ignored files and run a command in each new worktree
  setup consent HASH | clear     agree to what the repository offers; set nothing up any more
  mcp [--join] [--session NAME]  the delegate_task tool for a parent agent, MCP over stdio (--join: spawn
                                 answers with the completions)
  agents                         which agents are here and what each can do

Options: --repo DIR (default: here)  --store DIR  --agents FILE  --json`

/** What each command takes besides the global options. */
const allowed: Readonly<Record<string, readonly (keyof Flags)[]>> = {
  run: ['task', 'detach', 'contract'],
  contract: ['template'],
  list: ['all'],
  show: [],
  transcript: ['follow'],
  result: ['round'],
  steer: [],
  withdraw: [],
  answer: ['allow', 'deny', 'revoke'],
  interrupt: ['reason'],
  stop: ['reason'],
  adopt: [],
  resume: [],
  takeover: [],
  discard: ['force'],
  agents: [],
  verify: [],
  apply: ['squash', 'patch', 'override'],
  decide: ['apply', 'dismiss'],
  automate: ['off'],
  audit: ['check'],
  doctor: [],
  setup: ['copy', 'seconds'],
  mcp: ['join', 'session'],
  supervise: ['take'],
}
const everywhere: readonly (keyof Flags)[] = ['repo', 'store', 'agents', 'json', 'help', 'version']

/** The exit code. Rejects only for bugs. */
export async function main(argv: readonly string[]): Promise<number> {
  const end = argv.indexOf('--')
  const json = argv.slice(0, end === -1 ? undefined : end).includes('--json')
  const out = standardOutput(json)
  try {
    return await dispatch(argv, out)
  } catch (error) {
    const told = inOneSentence(error)
    if (json) process.stdout.write(`${JSON.stringify({ error: { code: told.code, message: told.message } })}\n`)
    process.stderr.write(`coxswain: ${told.message}\n`)
    return 2
  }
}

/** Throws what was not foreseen. */
function inOneSentence(error: unknown): UsageError {
  if (error instanceof UsageError) return error
  if (isForeseen(error)) return new UsageError('unavailable', troubleInWords(error))
  throw error
}

async function dispatch(argv: readonly string[], out: Output): Promise<number> {
  const unknown = parseArgs({ args: [...argv], options: flagOptions, strict: false, tokens: true }).tokens.find(
    (token) => token.kind === 'option' && !Object.hasOwn(flagOptions, token.name),
  )
  if (unknown?.kind === 'option')
    throw new UsageError(
      'invalid',
      `There is no option ${unknown.rawName}. Run coxswain --help for what there is. A text that begins with a dash goes last, after --.`,
    )
  let parsed
  try {
    parsed = parseArgs({ args: [...argv], options: flagOptions, allowPositionals: true })
  } catch (error) {
    throw new UsageError(
      'invalid',
      `${error instanceof Error ? error.message : String(error)}. Run coxswain --help for what there is.`,
    )
  }
  const { values: flags, positionals } = parsed
  const [command, ...words] = positionals
  if (flags.version === true) return (process.stdout.write(`${version()}\n`), 0)
  if (flags.help === true || command === 'help' || command === undefined) {
    process.stdout.write(`${usage}\n`)
    return command === undefined && flags.help !== true ? 2 : 0
  }
  const takes = Object.hasOwn(allowed, command) ? allowed[command] : undefined
  if (takes === undefined)
    throw new UsageError('invalid', `There is no command "${command}". Run coxswain --help for what there is.`)
  for (const flag of Object.keys(flags) as (keyof Flags)[])
    if (!takes.includes(flag) && !everywhere.includes(flag))
      throw new UsageError('invalid', `"${command}" takes no --${flag}.`)
  const invocation: Invocation = {
    flags,
    words,
    out,
    version: version(),
    open: (role, more) => open(flags, role, more),
  }
  switch (command) {
    case 'run':
      return await run(invocation)
    case 'contract':
      return contract(invocation)
    case 'supervise':
      return await supervise(invocation)
    case 'list':
      return await list(invocation)
    case 'show':
      return await show(invocation)
    case 'transcript':
      return await transcript(invocation)
    case 'result':
      return await result(invocation)
    case 'steer':
      return await steer(invocation)
    case 'resume':
      return await resume(invocation)
    case 'takeover':
      return await takeOver(invocation)
    case 'withdraw':
      return await withdraw(invocation)
    case 'answer':
      return await answer(invocation)
    case 'agents':
      return await agents(invocation)
    case 'verify':
      return await verify(invocation)
    case 'decide':
      return await decide(invocation)
    case 'automate':
      return await automate(invocation)
    case 'audit':
      return await audit(invocation)
    case 'setup':
      return await setup(invocation)
    case 'doctor':
      return await doctor(invocation)
    case 'mcp':
      // Loaded only here: no other command needs the protocol.
      return await (await import('./mcp')).mcp(invocation)
    default:
      return await act(command, invocation)
  }
}

async function open(
  flags: Flags,
  role: CoxswainOptions['role'],
  more: Partial<CoxswainOptions> = {},
): Promise<Coxswain> {
  if (process.platform === 'win32')
    throw new UsageError('unsupported', 'Coxswain cannot keep agents safely on native Windows. Run it in WSL instead.')
  const settings = machineSettings(process.env, flags.agents)
  const opened = await openCoxswain({
    folder: resolve(flags.repo ?? ''),
    ...(flags.store === undefined ? {} : { store: resolve(flags.store) }),
    role,
    caller: { kind: 'person' },
    settings: () => settings,
    // Bundled: this file is dist/cli.js.
    dist: __dirname,
    environment: process.env,
    attended: () => false,
    version: version(),
    log: (level, fact, fields) => {
      if (level !== 'info') process.stderr.write(`coxswain: ${fact} ${JSON.stringify(fields)}\n`)
    },
    ...more,
  })
  if ('commands' in opened) return opened
  throw new UsageError('repository', opened.message)
}

function version(): string {
  const read = JSON.parse(readFileSync(join(dirname(__dirname), 'package.json'), 'utf8')) as { version: string }
  return read.version
}
