// What others than the person may do in a window: another extension through the API, a chat through the tool.
import { suite, test } from 'mocha'
import assert from 'node:assert/strict'
import * as vscode from 'vscode'
import type { ChildHandle, ChildState, Refused, RoundResult, Waited } from '../../api/coxswain'

interface Delegated {
  readonly error?: Refused['error']
  readonly handle: ChildHandle
  readonly waited: Waited
  readonly result: RoundResult
}

const sample = async <T>(command: string, ...args: string[]): Promise<T> =>
  await vscode.commands.executeCommand<T>(`coxswainSample.${command}`, ...args)

async function invoke(input: object): Promise<string[]> {
  const { content } = await vscode.lm.invokeTool('delegate_task', { input, toolInvocationToken: undefined })
  return content.map((part) => (part instanceof vscode.LanguageModelTextPart ? part.value : ''))
}

suite('parents', () => {
  test('another extension launches a child, waits for its result and finds it again by its handle', async () => {
    const done = await sample<Delegated>('delegate', 'List the files', 'job-1')
    assert.equal(done.error, undefined, JSON.stringify(done))
    assert.deepEqual(
      { completed: done.waited.completed, phase: done.waited.state.phase, ready: done.result.ready },
      { completed: true, phase: 'SUCCESS', ready: true },
    )
    const repeated = await sample<Delegated>('delegate', 'Anything', 'job-1')
    assert.deepEqual(repeated.handle, done.handle)
    const again = await sample<{ result: RoundResult; strangers: ChildState }>('again')
    assert.deepEqual(again.result, done.result)
    assert.equal(again.strangers.phase, 'UNKNOWN')
  })

  test('a chat has one tool, and sees none of the children of the person or of an extension', async () => {
    assert.ok(vscode.lm.tools.some(({ name }) => name === 'delegate_task'))
    const [text = ''] = await invoke({ action: 'list' })
    const answer = JSON.parse(text)
    assert.deepEqual([answer.action, answer.count], ['list', 0])
    const [refusal = ''] = await invoke({ action: 'steer', subagent_id: 'aaaaaaaaaa', message: 'Open b.js.' })
    assert.equal(JSON.parse(refusal).error.code, 'unknown_child')
  })
})
