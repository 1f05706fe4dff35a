package filter

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// element is an element of an elements chain (capture.md §12). The first element of a chain is the
// innermost, which is the one that was clicked.
type element struct {
	Tag     string
	Classes []string
	// Attributes include text, href, nth-child and nth-of-type.
	Attributes map[string]string
}

// ParseChain parses an elements chain, which has the form `tag.class:attr="value"attr="value";…`.
// It never fails: what does not match the form is skipped.
func ParseChain(chain string) []element {
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
		e.Tag, e.Classes = parts[0], parts[1:]
		if strings.HasPrefix(chain, ":") {
			e.Attributes, chain = parseAttributes(chain[1:])
		}
		chain = strings.TrimPrefix(chain, ";")
		out = append(out, e)
	}
	return out
}

// parseAttributes parses name="value" pairs up to the end of the element. It returns the attributes
// and the rest of the chain.
func parseAttributes(s string) (map[string]string, string) {
	out := map[string]string{}
	for s != "" && s[0] != ';' {
		name, rest, ok := strings.Cut(s, `="`)
		if !ok {
			return out, ""
		}
		// Find the closing quote; a backslash escapes the next character.
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

// elementFilter parses a filter about the elements that were clicked (§3.2.6).
func elementFilter(n document.Node, p *port.Project) Condition {
	key := n.Get("key").Choice("", "tag_name", "text", "href", "selector")
	f := &elementCondition{comparison: readComparison(n, p, eventFilterSettings(key))}
	switch key {
	case "text", "href":
		f.attribute = key
	case "tag_name", "selector":
		n.Get("operator").Choice("exact", "exact", "is_not")
		f.match = func(es []element, tags []string) bool {
			return slices.ContainsFunc(es, func(e element) bool { return slices.Contains(tags, e.Tag) })
		}
		if key == "selector" {
			f.selectors(n.Get("value"))
		}
	default:
		n.Get("key").Fail(document.Required, "A filter of type element needs a key: tag_name, text, href or selector.")
	}
	return f
}

// elementCondition is a condition about the elements chain of an event. It compares either an
// attribute or, with match, the elements themselves.
type elementCondition struct {
	comparison
	// attribute is "text" or "href"; it is empty for the other keys.
	attribute string
	// match reports whether an element of the chain matches one of the values of the filter.
	match func(es []element, texts []string) bool
}

// selectors parses the values of the filter as CSS selectors and sets match.
func (f *elementCondition) selectors(value document.Node) {
	var list []selector
	for _, raw := range f.jsonTexts() {
		text, _ := scan.Text(raw)
		s, ok := parseSelector(text)
		if !ok {
			value.Fail(document.NotSupported, "The selector %s is not supported: use tags, .class, #id, [attr=\"value\"], :nth-child(n), spaces and >.", document.Describe(text))
		}
		list = append(list, s)
	}
	f.match = func(es []element, _ []string) bool {
		return slices.ContainsFunc(list, func(s selector) bool { return s.matches(es) })
	}
}

// Bind returns the condition for a run. Chains are parsed for each event.
func (f *elementCondition) Bind(b *scan.Binder) func(*scan.Row) bool {
	b.Needs.Columns |= port.Elements
	if f.attribute != "" {
		return f.bindAttribute(b)
	}
	// texts are the values of the filter as strings.
	var texts []string
	for _, raw := range f.jsonTexts() {
		t, _ := scan.Text(raw)
		texts = append(texts, t)
	}
	positive := f.operator == "exact"
	return func(r *scan.Row) bool { return f.match(ParseChain(r.Batch.Elements[r.Index]), texts) == positive }
}

// bindAttribute returns the condition for the keys text and href. It compares the text of every
// element, but only the innermost href.
func (f *elementCondition) bindAttribute(b *scan.Binder) func(*scan.Row) bool {
	test, negated := f.bindTest(b.Run), f.isNegative()
	return func(r *scan.Row) bool {
		var values []string
		for _, e := range ParseChain(r.Batch.Elements[r.Index]) {
			if v, ok := e.Attributes[f.attribute]; ok && (f.attribute == "text" || len(values) == 0) {
				values = append(values, wire.Quote(v))
			}
		}
		// Without such an element, the value is absent.
		if len(values) == 0 {
			return test("")
		}
		if negated { // a negative operator must be true for all values
			return !slices.ContainsFunc(values, func(v string) bool { return !test(v) })
		}
		return slices.ContainsFunc(values, test)
	}
}

// selector is a CSS selector: a path of parts, of which the first is the innermost.
type selector []selectorPart

// selectorPart describes one element of a selector. Empty fields match any element.
type selectorPart struct {
	element
	nthChild, nthOfType string
	// isDirect is true if the next part must match the parent, not just an ancestor.
	isDirect bool
}

// parseSelector parses a selector. It returns false if the selector has a form that is not
// supported.
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
		out = append(selector{part}, out...) // the innermost part is last in the text
	}
	return out, len(out) > 0 && !isDirect
}

// selectorWords splits a selector at blanks and at >, except within quotes.
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

// parseSelectorPart parses one part of a selector, such as a.link[href="/"]:nth-child(2).
func parseSelectorPart(word string) (p selectorPart, ok bool) {
	p.Attributes = map[string]string{}
	i := strings.IndexAny(word, ".#[:")
	if i < 0 {
		i = len(word)
	}
	p.Tag, word = strings.TrimSuffix(word[:i], "*"), word[i:]
	for word != "" {
		kind := word[0]
		if kind == '[' {
			end := strings.IndexByte(word, ']')
			// max prevents a negative index; a missing bracket is checked below.
			name, value, found := strings.Cut(word[1:max(end, 1)], "=")
			if end < 0 || !found {
				return p, false
			}
			p.Attributes[name] = strings.Trim(value, `"'`)
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

// add adds a class (.), an id (#) or a pseudo-class (:) to the part. It returns false if the
// pseudo-class is not supported.
func (p *selectorPart) add(kind byte, name string) bool {
	switch kind {
	case '.':
		p.Classes = append(p.Classes, name)
	case '#':
		p.Attributes["id"] = name
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

// matches reports whether the selector matches a path that ends anywhere in the chain. It goes from
// the outermost part to the innermost, and records for each element whether the path from that part
// outwards can begin there. So the time is the product of both lengths.
func (s selector) matches(es []element) bool {
	begins := make([]bool, len(es)+1)
	for k := len(s) - 1; k >= 0; k-- {
		outer := begins
		begins = make([]bool, len(es)+1)
		above := false // a match of the outer path begins at an ancestor
		for i := len(es) - 1; i >= 0; i-- {
			// rest reports whether the parts outside of k match.
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

// matches reports whether the part matches one element. An attribute may also have the prefix
// attr__ or attr_ in the chain.
func (p *selectorPart) matches(e element) bool {
	if p.Tag != "" && p.Tag != e.Tag {
		return false
	}
	for _, class := range p.Classes {
		if !slices.Contains(e.Classes, class) {
			return false
		}
	}
	for name, value := range p.Attributes {
		if !slices.Contains([]string{e.Attributes[name], e.Attributes["attr__"+name], e.Attributes["attr_"+name]}, value) {
			return false
		}
	}
	return (p.nthChild == "" || p.nthChild == e.Attributes["nth-child"]) && (p.nthOfType == "" || p.nthOfType == e.Attributes["nth-of-type"])
}
