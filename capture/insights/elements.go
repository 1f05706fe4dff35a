package insights

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// element is one of an elements chain (capture.md §12): the first is the innermost.
type element struct {
	tag        string
	classes    []string
	attributes map[string]string
}

// parseChain reads `tag.class:attr="value"attr="value";…`.
func parseChain(chain string) []element {
	var out []element
	for chain != "" {
		var e element
		var head string
		end := strings.IndexAny(chain, ":;")
		if end < 0 {
			end = len(chain)
		}
		head, chain = chain[:end], chain[end:]
		parts := strings.Split(head, ".")
		e.tag, e.classes = parts[0], parts[1:]
		if strings.HasPrefix(chain, ":") {
			e.attributes, chain = parseAttributes(chain[1:])
		}
		chain = strings.TrimPrefix(chain, ";")
		out = append(out, e)
	}
	return out
}

// parseAttributes reads name="value" until the element's end.
func parseAttributes(s string) (map[string]string, string) {
	out := map[string]string{}
	for s != "" && s[0] != ';' {
		name, rest, ok := strings.Cut(s, `="`)
		if !ok {
			return out, ""
		}
		end := 0
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(rest))
		out[name] = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(rest[:end])
		s = rest[min(end+1, len(rest)):]
	}
	return out, s
}

// elementFilter looks at the elements that were clicked (§3.2.6).
func elementFilter(n node, p *Project) condition {
	key := n.get("key").choice("", "tag_name", "text", "href", "selector")
	f := &elementCondition{comparison: n.comparison(p, eventFilterSettings(key))}
	switch key {
	case "text", "href":
		f.attribute = key
	case "tag_name", "selector":
		n.get("operator").choice("exact", "exact", "is_not")
		f.match = func(es []element, tags []string) bool {
			return slices.ContainsFunc(es, func(e element) bool { return slices.Contains(tags, e.tag) })
		}
		if key == "selector" {
			f.selectors(n.get("value"))
		}
	default:
		n.get("key").fail(required, "A filter of type element needs a key: tag_name, text, href or selector.")
	}
	return f
}

type elementCondition struct {
	comparison
	attribute string // text or href
	// match says whether an element has one of the texts of the value.
	match func(es []element, texts []string) bool
}

func (f *elementCondition) selectors(value node) {
	var list []selector
	for _, raw := range f.jsonTexts() {
		text, _ := textOf(raw)
		s, ok := parseSelector(text)
		if !ok {
			value.fail(notSupported, "The selector %s is not supported: want tags, .class, #id, [attr=\"value\"], :nth-child(n), blanks and >.", describe(text))
		}
		list = append(list, s)
	}
	f.match = func(es []element, _ []string) bool {
		return slices.ContainsFunc(list, func(s selector) bool { return s.matches(es) })
	}
}

func (f *elementCondition) bind(b *binder) func(*row) bool {
	b.needs.columns |= Elements
	if f.attribute != "" {
		return f.bindAttribute(b)
	}
	var texts []string
	for _, raw := range f.jsonTexts() {
		t, _ := textOf(raw)
		texts = append(texts, t)
	}
	positive := f.operator == "exact"
	return func(r *row) bool { return f.match(parseChain(r.b.Elements[r.i]), texts) == positive }
}

// bindAttribute compares each text, or the first href.
func (f *elementCondition) bindAttribute(b *binder) func(*row) bool {
	test, negated := f.bindTest(b.run), f.isNegative()
	return func(r *row) bool {
		var values []string
		for _, e := range parseChain(r.b.Elements[r.i]) {
			if v, ok := e.attributes[f.attribute]; ok && (f.attribute == "text" || len(values) == 0) {
				values = append(values, wire.Quote(v))
			}
		}
		if len(values) == 0 {
			return test("")
		}
		if negated { // of none of them may hold what the operator denies
			return !slices.ContainsFunc(values, func(v string) bool { return !test(v) })
		}
		return slices.ContainsFunc(values, test)
	}
}

// selector is a path of parts, the innermost first.
type selector []selectorPart

type selectorPart struct {
	element
	nthChild, nthOfType string
	isDirect            bool // the next part is of the parent, not of some ancestor
}

func parseSelector(text string) (selector, bool) {
	var out selector
	isDirect := false
	for _, word := range selectorWords(text) {
		if word == ">" {
			isDirect = true
			continue
		}
		part, ok := parseSelectorPart(word)
		if !ok {
			return nil, false
		}
		part.isDirect = isDirect
		isDirect = false
		out = append(selector{part}, out...)
	}
	return out, len(out) > 0 && !isDirect
}

// selectorWords cuts at blanks and > outside of brackets and quotes.
func selectorWords(text string) []string {
	var out []string
	word, quoted := "", false
	flush := func() {
		if word != "" {
			out = append(out, word)
		}
		word = ""
	}
	for _, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
			word += `"`
		case quoted:
			word += string(c)
		case c == ' ':
			flush()
		case c == '>':
			flush()
			out = append(out, ">")
		default:
			word += string(c)
		}
	}
	flush()
	return out
}

func parseSelectorPart(word string) (p selectorPart, ok bool) {
	p.attributes = map[string]string{}
	i := strings.IndexAny(word, ".#[:")
	if i < 0 {
		i = len(word)
	}
	p.tag, word = strings.TrimSuffix(word[:i], "*"), word[i:]
	for word != "" {
		kind := word[0]
		if kind == '[' {
			end := strings.IndexByte(word, ']')
			name, value, found := strings.Cut(word[1:max(end, 1)], "=")
			if end < 0 || !found {
				return p, false
			}
			p.attributes[name] = strings.Trim(value, `"'`)
			word = word[end+1:]
			continue
		}
		end := strings.IndexAny(word[1:], ".#[:")
		if end < 0 {
			end = len(word) - 1
		}
		name := word[1 : end+1]
		word = word[end+1:]
		if !p.add(kind, name) {
			return p, false
		}
	}
	return p, true
}

func (p *selectorPart) add(kind byte, name string) bool {
	switch kind {
	case '.':
		p.classes = append(p.classes, name)
	case '#':
		p.attributes["id"] = name
	case ':':
		number, child := strings.CutPrefix(name, "nth-child(")
		if !child {
			var ofType bool
			if number, ofType = strings.CutPrefix(name, "nth-of-type("); !ofType {
				return false
			}
		}
		number, closed := strings.CutSuffix(number, ")")
		if _, err := strconv.Atoi(number); err != nil || !closed {
			return false
		}
		if child {
			p.nthChild = number
		} else {
			p.nthOfType = number
		}
	}
	return name != ""
}

// matches says whether the chain has the path somewhere. From the outermost part
// inwards it notes for each element whether the path from that part on begins
// there, so that the work is the product of both lengths.
func (s selector) matches(es []element) bool {
	begins := make([]bool, len(es)+1)
	for k := len(s) - 1; k >= 0; k-- {
		outer := begins
		begins = make([]bool, len(es)+1)
		above := false // outer holds at some ancestor
		for i := len(es) - 1; i >= 0; i-- {
			rest := above
			switch {
			case k == len(s)-1:
				rest = true
			case s[k].isDirect:
				rest = outer[i+1]
			}
			begins[i] = rest && s[k].matches(es[i])
			above = above || outer[i]
		}
	}
	return slices.Contains(begins, true)
}

func (p *selectorPart) matches(e element) bool {
	if p.tag != "" && p.tag != e.tag {
		return false
	}
	for _, class := range p.classes {
		if !slices.Contains(e.classes, class) {
			return false
		}
	}
	for name, value := range p.attributes {
		if !slices.Contains([]string{e.attributes[name], e.attributes["attr__"+name], e.attributes["attr_"+name]}, value) {
			return false
		}
	}
	return (p.nthChild == "" || p.nthChild == e.attributes["nth-child"]) && (p.nthOfType == "" || p.nthOfType == e.attributes["nth-of-type"])
}
