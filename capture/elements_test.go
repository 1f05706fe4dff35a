package capture

import "testing"

// The format is PostHog's: the tag, the sorted classes without quotes, a colon, then the
// attributes by name, in which only quotes are escaped. Elements are separated by semicolons.
func TestCapture_8_2_ElementsChain(t *testing.T) {
	for _, c := range []struct{ name, list, want string }{
		{"none", `[]`, ``},
		{"a tag alone", `[{"tag_name":"div"}]`, `div:nth-child="0"nth-of-type="0"`},
		{"several", `[{"tag_name":"a","nth_child":1,"nth_of_type":2},{"tag_name":"body"}]`,
			`a:nth-child="1"nth-of-type="2";body:nth-child="0"nth-of-type="0"`},
		{"classes", `[{"tag_name":"a","attr__class":"text  small"}]`,
			`a.small.text:attr__class="text  small"nth-child="0"nth-of-type="0"`},
		{"classes as a list", `[{"tag_name":"a","attr__class":["b\"x","a"]}]`,
			`a.a.bx:attr__class="[\"b\\"x\",\"a\"]"nth-child="0"nth-of-type="0"`},
		{"id and address", `[{"tag_name":"a","attr__id":"i","attr__href":"/x","$el_text":"go"}]`,
			`a:attr__href="/x"attr__id="i"attr_id="i"href="/x"nth-child="0"nth-of-type="0"text="go"`},
		{"quotes and semicolons", `[{"tag_name":"p","attr__data-x":"a \"b\"; c\\"}]`,
			`p:attr__data-x="a \"b\"; c\"nth-child="0"nth-of-type="0"`},
		{"null, empty and other names", `[{"tag_name":"p","$el_text":"","attr__a":null,"other":"x","attr__n":5}]`,
			`p:attr__n="5"nth-child="0"nth-of-type="0"`},
		{"no objects", `[1,null,{"tag_name":"p"},"x"]`, `p:nth-child="0"nth-of-type="0"`},
		{"no list", `{"tag_name":"p"}`, ``},
	} {
		if got := string(appendElementsChain(nil, c.list)); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}
