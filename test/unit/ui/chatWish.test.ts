import { expect, it } from 'vitest'
import { readWish } from '../../../src/parent/wish'
import { chatWish } from '../../../src/ui/present/chatWish'

const shown = (input: object) => chatWish(readWish(input), (id) => `the child ${id}`)
const asked = (input: object) => shown(input).confirm

it('a chat-s wish is confirmed each time it starts or ends work, and only then', () => {
  expect(asked({ goal: ' Fix it ', agent: 'claude' })).toEqual({
    title: 'Dispatch a child?',
    lines: ['Agent claude: Fix it'],
  })
  expect(asked({ tasks: [{ goal: 'One' }, { goal: 'Two' }] })).toEqual({
    title: 'Dispatch 2 children?',
    lines: ['One', 'Two'],
  })
  expect(asked({ action: 'stop', subagent_id: 'x' })).toEqual({ title: 'Stop a child?', lines: ['the child x'] })
  expect(asked({ action: 'resume', subagent_id: 'x', message: 'Go on' })).toEqual({
    title: 'Resume a child?',
    lines: ['the child x', 'Go on'],
  })
  for (const action of ['list', 'steer', 'interrupt', 'result'])
    expect(asked({ action, subagent_id: 'x', message: 'y' })).toBeUndefined()
  expect(shown({ action: 'nonsense' })).toEqual({ doing: 'Asking Coxswain' })
})

it('what is not shown of a long goal is counted', () => {
  expect(asked({ goal: 'x'.repeat(2_010) })?.lines[0]).toMatch(/^x{2000} … and 10 more characters$/)
})
