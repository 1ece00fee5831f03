import { expect, test } from 'vitest'
import { allChecks, describeCheck } from '../../../src/core/contract'
import { argvOf, templateNames, templates } from '../../../src/core/contractTemplates'
import { contractFromValue } from '../../../src/verification/contractText'

test.each(templateNames)('the template %s is a contract that works, with something a machine checks', (name) => {
  const { fill, blank } = templates[name]
  const reading = contractFromValue(fill(blank.example))
  expect(reading.ok && [reading.contract.level, reading.warnings, allChecks(reading.contract).length > 0]).toEqual([
    'full',
    [],
    true,
  ])
})

test('a command that is typed in one line is words, and no shell', () => {
  expect(argvOf(`npm test -- --grep "two words" 'and $HOME'`)).toEqual([
    'npm',
    'test',
    '--',
    '--grep',
    'two words',
    'and $HOME',
  ])
  const reading = contractFromValue(templates.code.fill('npm test | tail'))
  expect(!reading.ok && reading.problems).toEqual([
    'checks[0].command.argv: "|" is a word of a shell, and no shell is started; use several checks',
  ])
  const good = contractFromValue(templates.code.fill('npm test'))
  expect(good.ok && allChecks(good.contract).map(describeCheck)).toEqual([
    'npm test exits with 0',
    'everything is committed',
  ])
})
