// What is done with the work of a child that has ended: look at it, have it judged again or asked again, take it over or
// throw it away.
import { can, type CommandRoom, type Wanted } from './commandRoom'
import { applyChild, discardChild } from './handBack'
import { t } from './present/l10n'
import { editReviewedFile, reviewChanges } from './review/reviewChanges'

export function endedWorkCommands({ command, meant, acts, supervision, checkTests, say }: CommandRoom): void {
  command('reviewChanges', async (...args) => {
    const now = await supervision.open()
    const needed = t('No child has a worktree.')
    const [child] = await meant(args.slice(0, 1), can('review'), t('Review the changes of a child'), needed)
    if (child !== undefined && now.kind === 'open') await reviewChanges(now.coxswain, child)
  })
  command('editReviewedFile', async (uri) => {
    const now = await supervision.open()
    if (now.kind === 'open') await editReviewedFile(now.coxswain, uri)
  })
  command('verify', async (...args) => {
    const needed = t('No child with a contract has ended and still has its worktree.')
    for (const child of await meant(args, can('verify'), t('Verify a child again'), needed))
      say(child, await acts.verify(child.child.id))
  })
  command('retry', async (...args) => {
    const needed = t('No child has a verdict that is open and an agent that can be asked again.')
    for (const child of await meant(args, can('retry'), t('Ask a child again with what did not pass'), needed))
      say(child, await acts.retry(child.child.id))
  })
  command('acceptPartial', async (...args) => {
    const needed = t('No child has a verdict that is open.')
    for (const child of await meant(args, can('acceptPartial'), t('Accept the work of a child as partial'), needed))
      say(child, await acts.acceptPartial(child.child.id))
  })
  command('showChecks', async (...args) => {
    const needed = t('No child has a verdict yet.')
    const judged: Wanted = (child) => child.verdict !== null
    for (const { child } of await meant(args, judged, t('Show the checks of a child as tests'), needed))
      await checkTests.show(child.id)
  })
  command('apply', async (...args) => {
    const needed = t('No ended child has work that was not applied yet.')
    const [child] = await meant(args.slice(0, 1), can('apply'), t('Apply the work of a child'), needed)
    if (child !== undefined) say(child, await applyChild(acts, supervision, child.child.id))
  })
  command('discard', async (...args) => {
    const needed = t('No ended child has a worktree left.')
    const [child] = await meant(args.slice(0, 1), can('discard'), t('Discard the worktree of a child'), needed)
    if (child !== undefined) say(child, await discardChild(acts, child.child))
  })
}
