// The transcript panel's page: the only HTML we write. It holds no text of anyone's; the script builds the rest from
// messages, as text nodes.

export interface PageParts {
  /** Fresh per load. */
  readonly nonce: string
  readonly cspSource: string
  readonly script: string
  readonly styles: readonly string[]
  readonly language: string
  /** The webview's words by their English ones; empty shows English. */
  readonly words: Readonly<Record<string, string>>
}

function contentSecurityPolicy(nonce: string, cspSource: string): string {
  return [
    `default-src 'none'`,
    `script-src 'nonce-${nonce}'`,
    `style-src ${cspSource} 'nonce-${nonce}'`,
    `font-src ${cspSource}`,
    `form-action 'none'`,
    `base-uri 'none'`,
    `require-trusted-types-for 'script'`,
    `trusted-types fast-html`,
  ].join('; ')
}

export function panelHtml({ nonce, cspSource, script, styles, language, words }: PageParts): string {
  const links = styles.map((href) => `    <link rel="stylesheet" href="${attribute(href)}">`).join('\n')
  // The toolkit puts its nonce on the one <style> it writes; it looks for it in this meta property.
  return `<!DOCTYPE html>
<html lang="${attribute(language)}">
  <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="${attribute(contentSecurityPolicy(nonce, cspSource))}">
    <meta property="csp-nonce" content="${attribute(nonce)}">
    <meta name="viewport" content="width=device-width, initial-scale=1">
${links}
    <title>Coxswain</title>
  </head>
  <body>
    <div id="root" data-words="${attribute(JSON.stringify(words))}"></div>
    <script nonce="${attribute(nonce)}" src="${attribute(script)}"></script>
  </body>
</html>
`
}

function attribute(value: string): string {
  return value.replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/</g, '&lt;')
}
