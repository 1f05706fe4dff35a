package browsertest

import "testing"

// J4 (console.md §1.2 and §3.6): the person, the flag, the value, the last reported value with the
// reason for the difference, the tree, and other properties. The rollout is 100 %, so the bucket
// has no effect.
func TestWhy(t *testing.T) {
	s := serve(t)
	s.person("ana", map[string]any{"email": "ana@example.com", "plan": "free"})
	pro := map[string]any{"key": "plan", "type": "person", "operator": "exact", "value": []string{"pro"}}
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "new-checkout", "filters": map[string]any{"groups": []any{map[string]any{"properties": []any{pro}, "rollout_percentage": 100}}}}, nil)
	p := s.open(t, "p/1/why")
	p.node("heading", "Why?")
	p.node("heading", "Explain a value")
	p.accessible()
	p.fill("ana", "combobox", "Person")
	p.enter()
	p.fill("new-checkout", "combobox", "Flag")
	p.enter()
	p.click("form", "Why?", "button", "Why?")
	p.node("region", "Answer", "heading", "new-checkout is false for ana@example.com")
	p.node("table", "Simulated and assigned", "rowheader", "Simulated now")
	p.node("table", "Simulated and assigned", "cell", "never")
	p.node("tree", "Explanation", "treeitem", "Condition 1: did not match")
	p.node("treeitem", `plan is "pro": saw "free" (stored): no`)
	p.accessible()
	wantRequests := func(want int) {
		t.Helper()
		if got := js[int](p, "performance.getEntriesByType('resource').filter(e => e.name.includes('/explain/')).length"); got != want {
			t.Errorf("%d explanations were asked for, want %d", got, want)
		}
	}
	wantRequests(1)
	p.fill("plan", "region", "What if", "textbox", "Property")
	p.fill("pro", "region", "What if", "textbox", "Value")
	p.click("region", "What if", "button", "Try")
	p.waitAnnounced("With this: new-checkout is true for ana@example.com")
	wantRequests(2)
	if got := js[string](p, "new URLSearchParams(location.search).get('what')"); got != `{"plan":"pro"}` {
		t.Errorf("the address has %s", got)
	}
	p.node("region", "Answer", "heading", "new-checkout is false for ana@example.com")

	s.capture(map[string]any{"event": "$feature_flag_called", "distinct_id": "ana", "properties": map[string]any{"$feature_flag": "new-checkout", "$feature_flag_response": true, "$feature_flag_version": 1}})
	s.api("PATCH", "/api/projects/1/feature_flags/1/", map[string]any{"name": "New checkout"}, nil)
	p.visit("p/1/why?person=ana&flag=new-checkout")
	p.node("table", "Simulated and assigned", "cell", "true")
	eventually(t, "why these differ", func() bool {
		return js[bool](p, "(document.body?.innerText ?? '').includes('These differ: the flag changed.')")
	})
	p.visit("p/1/why?person=nobody&flag=new-checkout")
	p.node("region", "Answer", "heading", "new-checkout is false for nobody")
	eventually(t, "that nobody has the id", func() bool {
		return js[bool](p, "(document.body?.innerText ?? '').includes('No stored person has this id.')")
	})
	p.expect("404 POST /api/projects/1/feature_flags/none/explain/")
	p.visit("p/1/why?person=ana&flag=none")
	p.node("button", "Try again")
	p.accessible()
}
