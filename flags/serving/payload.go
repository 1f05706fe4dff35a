package serving

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"github.com/bunting-flags/bunting/flags"
)

// servedPayload is an encoded definitions payload, on one line, with its version.
type servedPayload struct {
	body    []byte
	version string
	statics []int64 // ids of the static cohorts in it, sorted
}

// lazyPayload returns a function that encodes the payload on its first call and caches it.
func lazyPayload(d *flags.Definitions, set *flags.Set) func() (servedPayload, error) {
	return sync.OnceValues(func() (servedPayload, error) {
		body, statics, err := d.PayloadOf(set)
		if err != nil {
			return servedPayload{}, err
		}
		return servedPayload{body, versionOf(body), statics}, nil
	})
}

// versionOf returns the version of a payload, a hash of its content.
func versionOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}
