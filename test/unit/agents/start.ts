// The start of a conversation as the supervisor would hand it in, for tables of recorded lines.
import type { Abilities, ConversationStart } from '../../../src/agents/agent'

export const abilities: Abilities = {
  steerMode: 'at_tool_boundary',
  receipt: 'agent said',
  resume: true,
  approvals: true,
  cost: true,
}

export function start(over: Partial<ConversationStart> = {}): ConversationStart {
  return {
    childId: 'c-1',
    attempt: 1,
    sessionId: '0d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b9c',
    resume: false,
    prompt: 'Write a tour.',
    cwd: '/trees/c-1',
    promptFile: '/store/c-1/attempt-1/prompt.txt',
    controlDir: '/store/c-1/attempt-1/control',
    autonomy: 'edit',
    abilities,
    attended: true,
    ...over,
  }
}
