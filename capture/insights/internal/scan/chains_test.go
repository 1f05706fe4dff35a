package scan

import "testing"

// The memory for the values of one actor is counted while they are processed.
func TestChains_OneActorIsCounted(t *testing.T) {
	held, most := int64(0), int64(0)
	c := NewChains[int64](8, func(n int64) error {
		held += n
		most = max(most, held)
		return nil
	})
	for i := range int64(100_000) {
		if err := c.Add(uint32(i%2), i); err != nil {
			t.Fatal(err)
		}
	}
	before := held
	if err := c.Each(func(uint32, []int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if held != before || most < before+50_000*8 {
		t.Errorf("%d bytes at the most and %d afterwards, want %d more than %d at the most", most, held, 50_000*8, before)
	}
}
