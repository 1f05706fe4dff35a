package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
	"github.com/bunting-flags/bunting/adapters/server"
)

// ownerKey provides the owner's personal key at a first start. If the file of --owner-key-file
// exists, the key is read from it; if the option names a file that does not exist, a new key is
// written to it; without the option, a new key is printed.
type ownerKey struct {
	file  string
	print func(string) error
	// prepareLink returns the line with a link to the console, which is printed before the key. It
	// is empty if there are no links.
	prepareLink func() string
	isNew       atomic.Bool // reports whether this start created the key
}

// ownerKeyPattern matches the keys that are accepted from a file. Its minimum length excludes keys
// that are easy to guess.
var ownerKeyPattern = regexp.MustCompile(`^phx_[0-9A-Za-z]{32,128}$`)

const maxOwnerKeyFile = 4 << 10

// get implements server.Options.OwnerKey.
func (o *ownerKey) get() (server.OwnerKey, error) {
	if o.file == "" {
		return server.OwnerKey{Show: func(key string) error {
			text := fmt.Sprintf("%sThis is the first start. Your personal key, which is shown only now:\n\n  %s\n\n", o.prepareLink(), key)
			if err := o.print(text); err != nil {
				return fmt.Errorf("the owner's key could not be printed, so no key was created: %w; start again with readable output, or with --owner-key-file", err)
			}
			return nil
		}}, nil
	}
	key, err := readOwnerKey(o.file)
	if errors.Is(err, os.ErrNotExist) {
		return server.OwnerKey{Show: func(key string) error {
			if err := lastgood.Replace(o.file, 0o600, []byte(key+"\n")); err != nil {
				return fmt.Errorf("--owner-key-file: %w; no key was created", err)
			}
			o.isNew.Store(true)
			return nil
		}}, nil
	}
	if err != nil {
		return server.OwnerKey{}, fmt.Errorf("--owner-key-file: %w", err)
	}
	return server.OwnerKey{Text: key, Show: func(string) error { o.isNew.Store(true); return nil }}, nil
}

func readOwnerKey(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxOwnerKeyFile))
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(data))
	if !ownerKeyPattern.MatchString(key) {
		return "", fmt.Errorf("%s does not contain a personal key: it must be phx_ and 32 to 128 letters and digits; if the file does not exist, a key is created", path)
	}
	return key, nil
}
