// How an attempt is at work, as far as its signals tell: whether its model is in the midst of a turn, and which tools run.
// Kept in memory while it is heard, and found again by hearing the past again.
import type { AgentSignal } from './signals'

export interface Pulse {
  /** The model has spoken or called a tool since it last read anything. */
  readonly turnOpen: boolean
  readonly toolsInFlight: ReadonlySet<string>
}

export const resting: Pulse = { turnOpen: false, toolsInFlight: new Set() }

/** The pulse after a signal. What an agent's own subagents do is no turn of its model. */
export function beat(pulse: Pulse, signal: AgentSignal): Pulse {
  switch (signal.kind) {
    case 'text':
      return signal.subagent === undefined ? { ...pulse, turnOpen: true } : pulse
    case 'reasoning':
      return { ...pulse, turnOpen: true }
    case 'toolStarted':
      return {
        turnOpen: pulse.turnOpen || signal.subagent === undefined,
        toolsInFlight: new Set([...pulse.toolsInFlight, signal.id]),
      }
    case 'toolEnded': {
      const toolsInFlight = new Set([...pulse.toolsInFlight].filter((id) => id !== signal.id))
      return { turnOpen: false, toolsInFlight }
    }
    case 'result':
      return resting
    case 'ready':
    case 'steerSent':
    case 'steerTaken':
    case 'steerAnswered':
    case 'steerRefused':
    case 'steerGivenBack':
    case 'asked':
    case 'askEnded':
    case 'usage':
    case 'condition':
    case 'reply':
    case 'noise':
      return pulse
  }
}
