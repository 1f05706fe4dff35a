package codegen

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/flaglint"
)

// Use is a place in source code that names a flag.
type Use struct {
	File string
	Line int // from 1
	Key  string
}

// Doubt is a file of which not all may have been seen.
type Doubt struct{ File, Problem string }

// Found is what [Search] has seen.
type Found struct {
	Used     map[string]int // how often each flag is named, by key
	Strange  []Use          // reads of keys that no flag has, in the order of the files
	Files    int            // how many files were read
	TooLarge int            // files that are too large, and were not
	// Doubts are the files that are too large, and those that were searched as text since
	// they cannot be parsed or are in another encoding than UTF-8.
	Doubts []Doubt
}

// MaxSource is how large a file may be that is searched, in bytes.
const MaxSource = 4 << 20

// sources are the endings of files that are read as source code.
var sources = func() map[string]bool {
	out := map[string]bool{}
	for _, ending := range strings.Fields("go js jsx mjs cjs ts tsx mts cts vue svelte astro html py rb erb php java kt kts groovy scala swift m mm dart cs fs vb rs ex exs erl clj lua c h cc cpp hpp ejs hbs twig") {
		out["."+ending] = true
	}
	return out
}()

// skippedFolders are folders that hold nobody's own code.
var skippedFolders = map[string]bool{"node_modules": true, "vendor": true, "dist": true, "build": true, "target": true, "__pycache__": true, "venv": true}

// Patterns of what source code of other languages than Go has: texts, names, and calls
// that read a flag with a text as its key, of PostHog's and OpenFeature's clients.
var (
	texts = regexp.MustCompile(`"[^"\\\n]{1,400}"|'[^'\\\n]{1,400}'|` + "`[^`\\\\\n]{1,400}`")
	names = regexp.MustCompile(`\b(?:R|r)ead[\pL\pN_]+`)
	reads = regexp.MustCompile(`\b(?:` + strings.Join([]string{
		`(?:[iI]s)?[fF]eature_?[eE]nabled`, `[iI]sFeatureEnabled`, `is_feature_enabled`, `[gG]etFeatureFlag(?:Payload|Result)?`, `get_feature_flag(?:_payload|_result)?`,
		`useFeatureFlag(?:Enabled|VariantKey|Payload)?`, `onFeatureFlag`,
		`[gG]et(?:Boolean|String|Number|Integer|Float|Double|Object)(?:Value|Details)`, `get_(?:boolean|string|integer|float|object)_(?:value|details)`,
		`use(?:Boolean|String|Number|Object)Flag(?:Value|Details)`, `(?:Boolean|String|Float|Int|Object)Value(?:Details)?`,
	}, "|") + `)\(\s*(?:[cC]tx\s*,\s*|context\.\w+\(\)\s*,\s*)?["'` + "`" + `]([^"'` + "`" + `\\\n]{1,400})["'` + "`" + `]`)
)

// Search reads the source code below a folder for the keys of flags, and for the
// functions that [Go] and [TypeScript] make of them; code that those have written does
// not count. Hidden folders and those of packages are left out, links are not followed.
func Search(dir string, keys []string) (Found, error) {
	found := Found{Used: map[string]int{}}
	s := search{found: &found, keys: map[string]bool{}, functions: map[string][]string{}}
	for _, key := range keys {
		s.keys[key] = true
		for _, name := range []string{"ead" + exportedName(key), "ead" + exportedName(key) + "Payload"} {
			s.functions[name] = append(s.functions[name], key)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if path != dir && (skippedFolders[d.Name()] || strings.HasPrefix(d.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || !sources[strings.ToLower(filepath.Ext(path))]:
			return nil
		}
		return s.file(path)
	})
	return found, err
}

type search struct {
	found     *Found
	keys      map[string]bool
	functions map[string][]string // keys of flags by the end of their function's name, without the suffix of a clash
}

func (s *search) file(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > MaxSource {
		s.found.TooLarge++
		s.addDoubt(path, fmt.Sprintf("larger than %d MiB, not searched", MaxSource>>20))
		return nil
	}
	code, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s.found.Files++
	code, encoding := toUTF8(code)
	switch {
	case bytes.HasPrefix(code, []byte(generatedMark)):
	case encoding != "":
		s.addDoubt(path, "in "+encoding+", searched as text")
		s.text(path, code)
	case filepath.Ext(path) == ".go":
		s.searchGo(path, code)
	default:
		s.text(path, code)
	}
	return nil
}

func (s *search) addDoubt(path, problem string) {
	s.found.Doubts = append(s.found.Doubts, Doubt{path, problem})
}

// searchGo looks into a file of Go. One that cannot be parsed is searched as text.
func (s *search) searchGo(path string, code []byte) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, code, parser.SkipObjectResolution)
	if err != nil {
		problem := err.Error()
		var list scanner.ErrorList
		if errors.As(err, &list) && len(list) > 0 {
			problem = fmt.Sprintf("line %d: %s", list[0].Pos.Line, list[0].Msg)
		}
		s.addDoubt(path, problem+", searched as text")
		s.text(path, code)
		return
	}
	found := flaglint.In(file, nil)
	for _, text := range found.Texts {
		if s.keys[text] {
			s.found.Used[text]++
		}
	}
	for _, name := range found.Names {
		s.function(name)
	}
	for _, r := range found.Reads {
		if !s.keys[r.Key] {
			s.found.Strange = append(s.found.Strange, Use{path, set.Position(r.Pos).Line, r.Key})
		}
	}
}

// clashSuffix is what [Go] and [TypeScript] put behind a name that another flag has.
var clashSuffix = regexp.MustCompile(`_[0-9]+(Payload|)$`)

// function counts a name that is the function of a flag, of all flags that may have it.
func (s *search) function(name string) {
	if len(name) == 0 || name[0] != 'R' && name[0] != 'r' {
		return
	}
	for _, key := range s.functions[clashSuffix.ReplaceAllString(name[1:], "$1")] {
		s.found.Used[key]++
	}
}

// text looks through a file by the patterns.
func (s *search) text(path string, code []byte) {
	for _, text := range texts.FindAll(code, -1) {
		if key := string(text[1 : len(text)-1]); s.keys[key] {
			s.found.Used[key]++
		}
	}
	for _, name := range names.FindAll(code, -1) {
		s.function(string(name))
	}
	for _, match := range reads.FindAllSubmatchIndex(code, -1) {
		if key := string(code[match[2]:match[3]]); !s.keys[key] {
			s.found.Strange = append(s.found.Strange, Use{path, 1 + bytes.Count(code[:match[2]], []byte("\n")), key})
		}
	}
}

// Unused are the keys that no code names, sorted.
func (f *Found) Unused(keys []string) []string {
	out := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return f.Used[key] > 0 })
	slices.Sort(out)
	return out
}
