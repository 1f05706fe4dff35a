package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

// readState reads a state file. It returns false if there is no file.
func readState(path string, into any) (bool, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return false, fmt.Errorf("%s cannot be read: %w; remove it to start over", path, err)
	}
	return true, nil
}

// writeState replaces a state file atomically, so that it is never partly written.
func writeState(path string, state any) error {
	text, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return err
	}
	return lastgood.Replace(path, 0o666, text, []byte{'\n'})
}
