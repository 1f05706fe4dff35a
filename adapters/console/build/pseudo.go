package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// pseudoLanguage is for tests. Its messages are the English messages in brackets, with accents and 40 % longer,
// so that a page shows which of its messages are not in the catalogue and which layouts have no room. Its
// numbers and dates are Greek, so that they have no Latin letters.
var pseudoLanguage = language{"el", "shell.html", pseudoCatalogue}

const (
	pseudoCatalogue = "pseudo"
	english         = "english:" // before the path of the English messages that pseudo messages are generated from
)

// exportedTexts matches the names of tables of messages.
var exportedTexts = regexp.MustCompile(`(?m)^export const (\w+)(?:: [^=]+)? = \{`)

// pseudoTexts returns a module with the messages of a file in the pseudo-language.
func pseudoTexts(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	from := fmt.Sprintf("%q", english+filepath.ToSlash(file))
	out := fmt.Sprintf("import * as english from %s;\nexport * from %s;\n%s", from, from, pseudoFunction)
	for _, m := range exportedTexts.FindAllSubmatch(text, -1) {
		out += fmt.Sprintf("export const %s = pseudo(english.%[1]s);\n", m[1])
	}
	return out, nil
}

// loadEnglish lets the modules of pseudoTexts import the English modules.
func loadEnglish(b api.PluginBuild) {
	b.OnResolve(api.OnResolveOptions{Filter: "^" + english}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		return api.OnResolveResult{Path: strings.TrimPrefix(a.Path, english), Namespace: "english"}, nil
	})
	b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "english"}, func(a api.OnLoadArgs) (out api.OnLoadResult, err error) {
		text, err := os.ReadFile(a.Path)
		contents := string(text)
		return api.OnLoadResult{Contents: &contents, Loader: api.LoaderTS, ResolveDir: filepath.Dir(a.Path)}, err
	})
}

// A single word becomes one longer word, and a text of several words gets more of them. Placeholders such as
// {name} are kept.
const pseudoFunction = `
const accents: Record<string, string> = { a: "á", e: "é", i: "í", o: "ó", u: "ú", y: "ý", c: "ç", n: "ñ", s: "š", A: "Á", E: "É", I: "Í", O: "Ó", U: "Ú", C: "Ç", N: "Ñ", S: "Š" };
function mark(text: string): string {
  const plain = text.replace(/[⟦⟧]/g, "");
  if (!/[A-Za-z]/.test(plain)) return text;
  const longer = "é".repeat(Math.ceil(0.4 * plain.length));
  const filler = plain.includes(" ") ? longer.replace(/.{7}(?=.)/g, "$& ") : longer;
  return "⟦" + plain.replace(/\{\w+\}|[A-Za-z]/g, (c) => accents[c] ?? c) + (plain.includes(" ") ? " " : "") + filler + "⟧";
}
function pseudo(value: any): any {
  if (typeof value === "string") return mark(value);
  if (typeof value === "function") return (...args: unknown[]) => pseudo(value(...args));
  return value && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, pseudo(v)])) : value;
}
`
