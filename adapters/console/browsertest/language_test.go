package browsertest

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// readCatalogues is a program that prints the texts of both languages: by file and path, the texts that
// a function makes of several lists of arguments, or a single text.
const readCatalogues = `
const ts = require("./node_modules/typescript"), fs = require("fs"), path = require("path");
const words = path.resolve("../src/words");
function reader(LANGUAGE) {
	const loaded = new Map();
	return function load(file) {
		if (!loaded.has(file)) {
			const exports = {};
			loaded.set(file, exports);
			const text = ts.transpileModule(fs.readFileSync(file, "utf8"), {compilerOptions: {module: "commonjs", target: "es2022"}}).outputText;
			new Function("exports", "require", "LANGUAGE", text)(exports, (name) => load(path.resolve(path.dirname(file), name) + ".ts"), LANGUAGE);
		}
		return loaded.get(file);
	};
}
const lists = [[7101, 7203, 7307], [1, 7203, 7307], [7101, 1, 7307], [0, 7203, 7307], [7101, 0, 7307], ["", 7203, 7307], [7101, "", 7307], [null, 7203, 7307], [7101, null, 7307], [7101, false, 7307]];
function texts(at, value, out) {
	if (typeof value === "string") out[at] = [value];
	else if (typeof value === "function") out[at] = lists.map((l) => String(value(...l)));
	else for (const [key, inner] of Object.entries(value)) texts(at + "." + key, inner, out);
	return out;
}
const catalogue = (language, base, files) => files.reduce((out, file) => {
	for (const [name, table] of Object.entries(reader(language)(file))) if (typeof table === "object") texts(path.basename(file) + " " + name, table, out);
	return out;
}, {});
const inFolder = (folder) => fs.readdirSync(folder).filter((f) => f.endsWith(".ts")).map((f) => path.join(folder, f));
console.log(JSON.stringify({en: catalogue("en", words, [words + ".ts", ...inFolder(words)]), de: catalogue("de", words, inFolder(words + "/de"))}));
`

// inTexts matches what is the same in every language: numbers, whose separators are removed, and names
// of settings, properties and addresses.
var (
	separator = regexp.MustCompile(`(\d)[.,](\d)`)
	inTexts   = regexp.MustCompile(`\d+|\$?\w+_\w*|--[\w-]+|https?://[\w./]+`)
)

// placeholders returns what a text has in every language, sorted.
func placeholders(text string) []string {
	found := inTexts.FindAllString(separator.ReplaceAllString(text, "$1$2"), -1)
	slices.Sort(found)
	return found
}

// Both catalogues have the same keys. Their texts have the same values of functions, and the same
// numbers and names, whether these values are large, 1, 0 or missing. Whole sentences are translated.
func TestCatalogues_Agree(t *testing.T) {
	out, err := exec.Command("node", "-e", readCatalogues).Output()
	var all map[string]map[string][]string
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	en, de := all["en"], all["de"]
	if len(en) < 1000 {
		t.Fatalf("there are %d texts", len(en))
	}
	for key := range de {
		if en[key] == nil {
			t.Errorf("only in German: %s", key)
		}
	}
	for key, texts := range en {
		if len(de[key]) != len(texts) {
			t.Errorf("%s: %d texts in English, %d in German", key, len(texts), len(de[key]))
			continue
		}
		for i, text := range texts {
			german := de[key][i]
			if want, got := placeholders(text), placeholders(german); !slices.Equal(want, got) {
				t.Errorf("%s: %q has %q, %q has %q", key, text, want, german, got)
			}
			if isSentence := strings.Count(text, " ") > 2 && len(texts) == 1 && !strings.Contains(text, "*"); isSentence && text == german || (text == "") != (german == "") {
				t.Errorf("%s: %q in both languages", key, text)
			}
		}
	}
	if typed, word := de["words.ts words.eraseType"], de["words.ts words.eraseWord"]; len(typed) != 1 || !strings.Contains(typed[0], word[0]) {
		t.Errorf("%q asks for another word than %q", typed, word)
	}
}

// prefers sets the languages of the browser.
func (p *page) prefers(languages string) {
	p.t.Helper()
	call(p, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: "a test", AcceptLanguage: languages})
}

// waitLanguage waits until a document has loaded in a language. A document in another language loads itself
// again, and Chromium crashes if that happens during a search of the accessibility tree.
func (p *page) waitLanguage(language string) {
	p.t.Helper()
	eventually(p.t, "a document in "+language, func() bool {
		return js[bool](p, fmt.Sprintf("document.documentElement?.lang === %q && document.readyState === 'complete'", language))
	})
}

// forgetLanguage deletes the cookie with the language that an account has chosen.
func (p *page) forgetLanguage() {
	p.t.Helper()
	call(p, network.DeleteCookies, network.DeleteCookiesParams{Name: "bunting-language", URL: p.server.url + "/console/"})
}

// The pages have the language that the browser prefers, until the account chooses one, which then holds
// in every browser of that account. Numbers and dates follow the language.
func TestLanguage_OfBrowserAndAccount(t *testing.T) {
	s := (&server{t: t, data: t.TempDir()}).start() // no other test runs at the same time
	s.api("PATCH", "/api/organizations/@current/", map[string]any{"quotas": map[string]any{"events": 12480}}, nil)
	p := s.openAnonymous(t, chromedp.WithNewBrowserContext()) // other tests share the cookies of one browser
	p.prefers("de-AT,de;q=0.9,en;q=0.8")
	p.visit("sign-in")
	p.node("heading", "Anmelden")
	js[bool](p, fmt.Sprintf("document.querySelector('input[type=password]').value = %q, true", s.key))
	p.click("button", "Mit Schlüssel anmelden")
	p.node("button", "Kontomenü")
	p.visit("organization/usage")
	p.waitLoaded()
	if text := js[string](p, "document.documentElement.lang + ' ' + document.querySelector('main').innerText"); !strings.HasPrefix(text, "de ") || !strings.Contains(text, "0 von 12.480") {
		t.Errorf("usage is %s", text)
	}
	p.visit("account")
	p.node("heading", "Konto")
	const date = `[...document.querySelectorAll("section[aria-label=Sitzungen] time")].map(t => t.title).join()`
	eventually(t, "a date as it is written in German", func() bool { return regexp.MustCompile(`\d\d\.\d\d\.20\d\d`).MatchString(js[string](p, date)) })
	p.accessible()

	p.choose("English", "combobox", "Sprache")
	p.waitLanguage("en")
	p.node("heading", "Account")
	p.visit("p/1")
	p.node("heading", "Home")
	var me struct{ Language *string }
	if s.api("GET", "/api/users/@me/", nil, &me); me.Language == nil || *me.Language != "en" {
		t.Errorf("the account has the language %v", me.Language)
	}
	p.forgetLanguage() // as in another browser
	p.visit("account")
	p.waitLanguage("en")
	p.node("heading", "Account")

	p.choose("As in the browser", "combobox", "Language")
	p.waitLanguage("de")
	p.node("heading", "Konto")
	p.prefers("en")
	p.visit("account")
	p.node("heading", "Account")
}
