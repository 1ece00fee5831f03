// The seam between Coxswain and a vendor's agent: a tiny required set, abilities as optional objects. An adapter is pure
// translation and owns no process, so every adapter is tested with a list of recorded lines.
import type { Answer, Autonomy, SteerMode } from '../core/events'
import type { AgentSignal, EvidenceKind, Outgoing } from '../core/signals'

/** How an installed agent is found and asked what it is; run by whoever owns processes, read by the adapter. */
export interface Probe {
  /** Names looked up on PATH, in order, unless settings name an executable. Empty: nothing to find (it comes with us). */
  readonly programs: readonly string[]
  /** Arguments that make it print its version and go; absent when finding the file is all that can be asked. */
  readonly args?: readonly string[]
  /** Pure: what the program printed → its version and what this very version can do. */
  read(output: string): ProbeReading
  /** One sentence: how to get it. */
  readonly install: string
}

export interface ProbeReading {
  readonly version?: string
  readonly notes?: readonly string[]
  /** Only what differs from the adapter's best. */
  readonly abilities?: Partial<Abilities>
}

/** What an agent, in the version at hand, can do. */
export interface Abilities {
  readonly steerMode: SteerMode
  /** How its receipts are known; 'none' when it gives none. */
  readonly receipt: EvidenceKind | 'none'
  readonly resume: boolean
  readonly approvals: boolean
  readonly cost: boolean
  /** A person can go on with its session in a terminal. */
  readonly terminal?: boolean | undefined
  /** What was allowed for the whole child can be taken back while it works. */
  readonly revoke?: boolean | undefined
}

/** Everything a conversation may depend on. Paths are absolute; nothing here was read from the worktree. */
export interface ConversationStart {
  readonly childId: string
  readonly attempt: number
  /** The vendor's session id: ours to propose on a first attempt, to be continued exactly on a resume. */
  readonly sessionId: string
  readonly resume: boolean
  /** The user turn this attempt begins with; contract and carried steers are in it. */
  readonly prompt: string
  /** The child's working folder inside its worktree. */
  readonly cwd: string
  /** A 0600 file outside the worktree that will hold `prompt`, and the folder for control files. */
  readonly promptFile: string
  readonly controlDir: string
  readonly model?: string
  readonly effort?: string
  readonly autonomy: Autonomy
  readonly allowedTools?: readonly string[]
  /** The files an agent named in `projectRules`, as found at the child's base; absent when there are none. */
  readonly projectRules?: readonly { readonly path: string; readonly text: string }[]
  /** What the vendor's session has cost and taken before this attempt, where known; US dollars, and all tokens. */
  readonly sessionCostUsd?: number
  readonly sessionTokens?: { readonly input: number; readonly output: number }
  /** This attempt's own ceilings, where the agent can keep them itself; the supervisor watches them all the same. */
  readonly maxTurns?: number
  readonly maxCostUsd?: number
  /** JSON Schema of the object the contract wants back, if any. */
  readonly outputSchema?: unknown
  /** Abilities as probed on the installed version. */
  readonly abilities: Abilities
  /** The executable as found, absolute; absent for agents whose settings carry the whole command. */
  readonly executable?: string
  /**
   * For an orchestrator: our command line, which acts as this child when it calls it; with `mcp` it serves delegate_task
   * over stdio. Absent for leaves.
   */
  readonly launcher?: string
  /** A person is attached and can answer questions. */
  readonly attended: boolean
}

/** How to start the agent process. */
export interface AgentLaunch {
  readonly file: string
  readonly args: readonly string[]
  /** Variables set for the agent; never secrets. */
  readonly env: Readonly<Record<string, string>>
  /** Variables handed on from our own environment beyond the usual allow-list, by name. */
  readonly inherit: readonly string[]
  /** Of those, the ones whose values are redacted wherever we write. */
  readonly secrets: readonly string[]
  /** What the agent finds on stdin: nothing, a pipe that takes frames, or the prompt and then its end. */
  readonly input: 'closed' | 'open' | 'prompt'
  /** Files written before the start: absolute path → content. */
  readonly files: Readonly<Record<string, string>>
}

/** One attempt's talk with one agent process. Sans-IO: lines in, signals out. */
export interface Conversation {
  readonly launch: AgentLaunch
  /** Frames that open the talk once the process runs. */
  readonly opening: readonly Outgoing[]
  /** An unknown line is a `noise` signal, never a throw. */
  read(source: 'stdout' | 'stderr', line: string): AgentSignal[]
  /** What the end of the process itself says, e.g. exit 0 of a plain program as a claim of success. */
  ended(exit: { readonly code: number | null; readonly signal: string | null }): AgentSignal[]
  /** Refolding the past: a frame that was written earlier. */
  wrote?(frame: string): void
  /** Absent = this agent cannot be steered while it runs. */
  readonly steer?: { readonly mode: SteerMode; write(steer: SteerFrame): Outgoing[] }
  /** Takes back a steer that was sent but not yet taken, where the protocol can. */
  withdrawSteer?(steerId: string): Outgoing[]
  /** The agent's own soft way to end its turn, tried before SIGTERM; `signal` follows the frames after `waitMs`. */
  readonly softEnd?: { write(): Outgoing[]; readonly waitMs: number; readonly signal?: 'SIGINT' }
  answer?(requestId: string, answer: Answer): Outgoing[]
  /** From now on it asks again for what this answer had allowed for the whole child. Twice is harmless, also before `wrote`. */
  revoke?(requestId: string): void
  /** What ends the process after its result: it goes by itself, or its stdin is closed. */
  readonly afterResult: 'exits by itself' | 'close input'
}

export interface SteerFrame {
  readonly id: string
  readonly text: string
  /** ISO 8601, UTC. */
  readonly queuedAt: string
}

/** How the agent's program answers one prompt, without tools, a session or a conversation: prompt on stdin, then it ends. */
export interface OneShot {
  /** Without a program: the one that was found. */
  readonly args: readonly string[]
  /** Set for it; never secrets. */
  readonly env: Readonly<Record<string, string>>
  /** Names of variables handed on, those with secrets too. */
  readonly inherit: readonly string[]
  /** Pure: what it printed on stdout → its answer; null when it gave none. */
  read(stdout: string): string | null
}

export interface Agent {
  readonly id: string
  /** As people say it. */
  readonly label: string
  /** What it can do at best; a probe may say less. */
  readonly abilities: Abilities
  readonly probe: Probe
  /** Variables whose values are redacted wherever we write what people read. */
  readonly secrets: readonly string[]
  /** Files of rules its users keep in repositories, which it must be handed because it is not let read the rest there. */
  readonly projectRules?: readonly string[]
  /** How a person goes on with a session in a terminal; absent when nobody can. */
  readonly terminal?: {
    args(sessionId: string): readonly string[]
    /** Where the vendor notes which process has which session open: the folder, and what one of its files says. */
    readonly openSessions?: {
      folder(environment: Readonly<Record<string, string | undefined>>): string | undefined
      /** `startTime` as the process table has it. */
      read(
        name: string,
        text: string,
      ): { readonly pid: number; readonly startTime: string; readonly sessionId: string } | undefined
    }
  }
  /** Absent: it can only be talked with. */
  oneShot?(model?: string): OneShot
  /** Why it cannot be limited to these tools, or null. Absent: it cannot be limited at all. */
  toolsProblem?(allowed: readonly string[]): string | null
  converse(start: ConversationStart): Conversation
}
