// The page as it is served, directive by directive.
import { expect, test } from 'vitest'
import { panelHtml } from '../../../src/ui/panel/html'

const parts = {
  nonce: 'abc+/=',
  cspSource: 'https://*.vscode-cdn.net',
  script: 'https://x/dist/webview/transcript.js?a="><script>alert(1)</script>',
  styles: ['https://x/dist/webview/transcript.css'],
  language: 'en',
  words: { Steer: 'Lenken "><script>alert(1)</script>' },
}
const html = panelHtml(parts)
const policy = (/http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1] ?? '').split('; ')

test('nothing may load or run but our own script by nonce, our own styles and fonts', () => {
  expect(policy).toEqual([
    `default-src 'none'`,
    `script-src 'nonce-abc+/='`,
    `style-src https://*.vscode-cdn.net 'nonce-abc+/='`,
    `font-src https://*.vscode-cdn.net`,
    `form-action 'none'`,
    `base-uri 'none'`,
    `require-trusted-types-for 'script'`,
    `trusted-types fast-html`,
  ])
})

test('the policy stands before anything it has to bind, and every script carries the nonce', () => {
  expect(html.indexOf('Content-Security-Policy')).toBeLessThan(html.search(/<link|<script|<style/))
  expect(html.match(/<script/g)).toHaveLength(1)
  expect(html).toContain('<script nonce="abc+/="')
  expect(html).toContain('<meta property="csp-nonce" content="abc+/=">')
})

test('the words of a translation reach the page as data', () => {
  const words = /data-words="([^"]+)"/
    .exec(html)?.[1]
    ?.replace(/&quot;/g, '"')
    .replace(/&lt;/g, '<')
    .replace(/&amp;/g, '&')
  expect(JSON.parse(words ?? '')).toEqual(parts.words)
})

test('an address cannot break out of its attribute', () => {
  expect(html).not.toContain('"><script>alert')
})
