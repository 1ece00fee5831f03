import { describe, expect, it } from 'vitest'
import type { Ancestor } from '../../../src/process/ancestry'
import { childBehind } from '../../../src/supervisor/childBehind'
import { attempt, child } from '../ui/children'

const identity = (pid: number) => ({ pid, startTime: String(pid), bootId: 'boot' })
const ancestor = (pid: number, variables: Record<string, string> = {}): Ancestor => ({
  identity: identity(pid),
  variables,
})
const live = child({ id: 'livechild', attempts: [attempt({ agent: identity(50) })] })

describe('the child a process works for', () => {
  it('is the recorded agent among its ancestors, whatever the variables claim', () => {
    expect(childBehind([live], { COXSWAIN_CHILD_ID: 'sibling' }, [ancestor(60), ancestor(50)])).toBe('livechild')
  })

  it('is not the agent of another start that had the same number', () => {
    const reused: Ancestor = { identity: { ...identity(50), startTime: '51' }, variables: {} }
    expect(childBehind([live], {}, [reused])).toBeUndefined()
  })

  it('is what its own or the nearest ancestor-s variables say when no recorded agent is above it', () => {
    expect(childBehind([], { COXSWAIN_CHILD_ID: 'one' }, [])).toBe('one')
    expect(childBehind([], { COXSWAIN_CHILD_ID: '', COXSWAIN_MARKER: 'two.1.ff' }, [])).toBe('two')
    const chain = [
      ancestor(3),
      ancestor(2, { COXSWAIN_MARKER: 'near.2.ff' }),
      ancestor(4, { COXSWAIN_CHILD_ID: 'far' }),
    ]
    expect(childBehind([], {}, chain)).toBe('near')
  })

  it('is nobody for a person', () => {
    expect(childBehind([live], { PATH: '/bin' }, [ancestor(7, {})])).toBeUndefined()
  })
})
