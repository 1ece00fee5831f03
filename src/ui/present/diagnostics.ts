// What a bug report needs and nothing a person would not want in one: versions, phases, counts and times; never goals,
// titles, transcripts, paths, branches or environment. Pure.
import { missedSteers, openRequests, waitingSteers, type Attempt } from '../../core/child'
import type { AgentInfo } from '../../supervisor/agentsFound'
import type { ChildView } from '../../supervisor/view'

export interface DiagnosticsParts {
  readonly version: string
  readonly platform: string
  readonly node: string
  readonly host: string
  readonly agents: readonly AgentInfo[]
  readonly views: readonly ChildView[]
}

/** Markdown, in English: for whoever reads the report. */
export function diagnosticsText({ version, platform, node, host, agents, views }: DiagnosticsParts): string {
  const found = agents
    .filter((agent) => agent.found)
    .map(
      ({ id, version: its, abilities }) =>
        `- ${id} ${its ?? 'version unknown'}: steer ${abilities.steerMode}, receipt ${abilities.receipt}, resume ${abilities.resume}, approvals ${abilities.approvals}`,
    )
  return `${[
    `Coxswain ${version}; ${host}; ${platform}; Node ${node}`,
    '',
    'Agents found:',
    ...(found.length === 0 ? ['- none'] : found),
    '',
    'Children:',
    ...(views.length === 0 ? ['- none'] : views.map(childLine)),
  ].join('\n')}\n`
}

function childLine({ child, entryCount }: ChildView): string {
  const facts = [
    `${child.id} ${child.phase}${child.paused ? ' paused' : ''}${child.verifying ? ' verifying' : ''}`,
    `agent ${child.task.recipe.agent} ${child.task.recipe.version ?? ''}`.trim(),
    `round ${child.round}`,
    `${child.attempts.length} attempts`,
    `${entryCount} entries`,
    `steers ${child.steers.length} (${waitingSteers(child).length} waiting, ${missedSteers(child).length} missed)`,
    `requests open ${openRequests(child).length}`,
    `contract ${child.task.contract.level}, verdict ${child.verdict?.status ?? 'none'}`,
    `misfits ${child.misfits}`,
  ]
  return `- ${facts.join('; ')}\n${child.attempts.map((attempt) => `  - ${attemptLine(attempt)}`).join('\n')}`
}

function attemptLine({
  n,
  reason,
  launchingAt,
  endedAt,
  ended,
  endRequest,
  exit,
  startFailure,
  vanished,
}: Attempt): string {
  const end =
    exit === null
      ? startFailure !== null
        ? 'did not start'
        : vanished !== null
          ? 'vanished'
          : 'not ended'
      : `exit ${exit.code ?? exit.signal ?? 'unknown'}, drained ${exit.drained}, survivors ${exit.survivors}`
  return [
    `attempt ${n} (${reason}) from ${launchingAt} to ${endedAt ?? 'now'}`,
    ended ?? 'live',
    endRequest === null ? null : `asked to end: ${endRequest.cause}`,
    end,
  ]
    .filter((part) => part !== null)
    .join('; ')
}
