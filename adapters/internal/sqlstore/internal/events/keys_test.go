package events

import (
	"bytes"
	"testing"

	"github.com/bunting-flags/bunting/capture"
)

func TestLedger_13_3_Key(t *testing.T) {
	base := capture.EventKey{ProjectID: 1, UUID: capture.UUID{1, 15: 2}, Name: "ab", DistinctID: "cd"}
	other := func(change func(*capture.EventKey)) capture.EventKey {
		k := base
		change(&k)
		return k
	}
	key, _ := AppendKey(nil, nil, &base)
	if len(key) != KeySize || !bytes.HasPrefix(key, base.UUID[:]) {
		t.Errorf("%x, want the uuid and 8 bytes", key)
	}
	for i, k := range []capture.EventKey{
		other(func(k *capture.EventKey) { k.ProjectID = 2 }),
		other(func(k *capture.EventKey) { k.UUID[7] = 1 }),
		other(func(k *capture.EventKey) { k.Name = "ac" }),
		other(func(k *capture.EventKey) { k.DistinctID = "ce" }),
		other(func(k *capture.EventKey) { k.Name, k.DistinctID = "abc", "d" }),
		other(func(k *capture.EventKey) { k.Name, k.DistinctID = "", "abcd" }),
	} {
		if got, _ := AppendKey(nil, nil, &k); bytes.Equal(got, key) {
			t.Errorf("%d: %+v and %+v have the same key", i, k, base)
		}
	}
}
