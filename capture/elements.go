package capture

import (
	"cmp"
	"slices"
	"strings"
)

// These limits bound the text and the link of an element that are stored, in characters.
const (
	maxElementText = 400
	maxElementHref = 2048
)

// appendElementsChain appends the elements chain of an $elements list, which begins with the
// element that was clicked and ends with its outermost parent (§8.2). Each element is written
// as its tag, its classes, and its attributes sorted by name. List elements that are not
// objects are skipped.
//
//	a.small.text:attr__href="/a"href="/a"nth-child="1"nth-of-type="2"text="go";div:nth-child="1"nth-of-type="1"
func appendElementsChain(dst []byte, list string) []byte {
	start := len(dst)
	var members, attributes []Member
	eachElement(list, func(value string) {
		if !isObject(value) {
			return
		}
		if len(dst) > start {
			dst = append(dst, ';')
		}
		members = appendMembers(members[:0], value)
		dst, attributes = appendElement(dst, members, attributes[:0])
	})
	return dst
}

// appendElement appends one element. attributes is a buffer that it uses and returns, so that
// the next call can reuse it.
func appendElement(dst []byte, element, attributes []Member) ([]byte, []Member) {
	tag, classes := "", []string(nil)
	child, ofType := "0", "0"
	for _, m := range element {
		v := asText(m.Value)
		if v == "" {
			continue
		}
		switch m.Key {
		case "tag_name":
			tag = v
		case "$el_text":
			attributes = append(attributes, Member{"text", cut(v, maxElementText)})
		case "nth_child":
			child = v
		case "nth_of_type":
			ofType = v
		case "attr__class":
			classes = elementClasses(m.Value)
		case "attr__id":
			attributes = append(attributes, Member{"attr_id", v})
		case "attr__href":
			attributes = append(attributes, Member{"href", cut(v, maxElementHref)})
		}
		if strings.HasPrefix(m.Key, "attr__") {
			attributes = append(attributes, Member{m.Key, v})
		}
	}
	attributes = append(attributes, Member{"nth-child", child}, Member{"nth-of-type", ofType})
	slices.SortFunc(attributes, func(a, b Member) int { return cmp.Compare(a.Key, b.Key) })

	dst = append(dst, tag...)
	for _, c := range classes {
		dst = append(dst, '.')
		dst = appendReplacing(dst, c, "")
	}
	dst = append(dst, ':')
	for _, a := range attributes {
		dst = appendReplacing(dst, a.Key, `\"`)
		dst = append(dst, '=', '"')
		dst = appendReplacing(dst, a.Value, `\"`)
		dst = append(dst, '"')
	}
	return dst, attributes
}

// elementClasses returns the sorted class names of a class attribute, which is a string or a
// list of strings.
func elementClasses(value string) []string {
	var classes []string
	if s, ok := text(value); ok {
		classes = strings.Fields(s)
	} else {
		eachElement(value, func(class string) {
			if s := asText(class); s != "" {
				classes = append(classes, s)
			}
		})
	}
	slices.Sort(classes)
	return classes
}

// appendReplacing appends s with every double quote replaced by quote. The chain has no other
// escapes.
func appendReplacing(dst []byte, s, quote string) []byte {
	for {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(append(dst, s[:i]...), quote...)
		s = s[i+1:]
	}
}
