package events

import "testing"

// A list of sealed blocks is there for its project and its version only, and no longer if others need the room. A list
// that is too long is not kept.
func TestSealedLists(t *testing.T) {
	l := newSealedLists()
	v := sealedVersion{last: 700, changes: 3}
	l.put(1, &sealedList{v, make([]storedBlock, 10)})
	for what, got := range map[string]*sealedList{
		"another project": l.get(2, v), "a later segment": l.get(1, sealedVersion{800, 3}), "a later change": l.get(1, sealedVersion{700, 4}),
	} {
		if got != nil {
			t.Errorf("%s: there is a list", what)
		}
	}
	if got := l.get(1, v); got == nil || len(got.blocks) != 10 || l.blocks != 10 {
		t.Errorf("%v, %d blocks", got, l.blocks)
	}
	later := sealedVersion{last: 800, changes: 4}
	l.put(1, &sealedList{later, make([]storedBlock, 12)})
	if l.get(1, v) != nil || l.get(1, later) == nil || l.blocks != 12 {
		t.Errorf("%d blocks after another list of the project", l.blocks)
	}
	l.put(2, &sealedList{v, make([]storedBlock, maxSealedBlocks+1)})
	if l.get(2, v) != nil || l.get(1, later) == nil || l.blocks != 12 {
		t.Errorf("a list of too many blocks: %d", l.blocks)
	}
	for project := range int64(5) {
		l.put(10+project, &sealedList{v, make([]storedBlock, maxSealedBlocks/4)})
	}
	if l.get(1, later) != nil || l.get(10, v) != nil || l.get(11, v) == nil || l.get(14, v) == nil || l.blocks != maxSealedBlocks {
		t.Errorf("%d blocks of several projects, want %d", l.blocks, maxSealedBlocks)
	}
	for project := range int64(2 * maxSealedLists) {
		l.put(100+project, &sealedList{v, nil})
	}
	if l.lru.Len() != maxSealedLists || l.blocks != 0 {
		t.Errorf("%d projects with %d blocks", l.lru.Len(), l.blocks)
	}
}
