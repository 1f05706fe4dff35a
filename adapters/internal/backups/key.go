package backups

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
)

// Key encrypts and decrypts backups in the format age. A key of recipients only, without
// identities, cannot decrypt.
type Key struct {
	recipients []age.Recipient
	identities []age.Identity
}

// mostKey is the maximum size of a file with keys in bytes.
const mostKey = 64 << 10

const keyForms = "it must have lines that begin with AGE-SECRET-KEY-1 (they encrypt and decrypt) or with age1 (they only encrypt); bunting backup --new-key FILE writes one"

// ReadKey reads a file with identities or recipients of age, one a line. If path is empty,
// the key is nil: backups are not encrypted.
func ReadKey(path string) (*Key, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, mostKey+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostKey {
		return nil, fmt.Errorf("%s is too long: a file with keys has at most %d bytes", path, mostKey)
	}
	k := &Key{}
	if !bytes.Contains(text, []byte("AGE-SECRET-KEY-")) {
		if k.recipients, err = age.ParseRecipients(bytes.NewReader(text)); err != nil {
			return nil, fmt.Errorf("%s has no keys of age: %s", path, keyForms)
		}
		return k, nil
	}
	if k.identities, err = age.ParseIdentities(bytes.NewReader(text)); err != nil {
		return nil, fmt.Errorf("%s has an invalid key of age: %s", path, keyForms) // err may quote the key
	}
	for _, identity := range k.identities {
		switch identity := identity.(type) {
		case *age.X25519Identity:
			k.recipients = append(k.recipients, identity.Recipient())
		case *age.HybridIdentity:
			k.recipients = append(k.recipients, identity.Recipient())
		default:
			return nil, fmt.Errorf("%s has a key of an unknown kind: %s", path, keyForms)
		}
	}
	return k, nil
}

// NewKey writes a new key to a new file that only its owner can read, and returns its
// recipient.
func NewKey(path string) (recipient string, err error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return "", err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	recipient = identity.Recipient().String()
	_, err = fmt.Fprintf(file, "# public key: %s\n%s\n", recipient, identity)
	return recipient, errors.Join(err, file.Sync(), file.Close())
}

// encrypt returns a writer that encrypts to w, or w itself without a key.
func (k *Key) encrypt(w io.Writer) (io.WriteCloser, error) {
	if k == nil {
		return nopCloser{w}, nil
	}
	return age.Encrypt(w, k.recipients...)
}

// canDecrypt reports whether the key decrypts its own backups.
func (k *Key) canDecrypt() bool { return k == nil || len(k.identities) > 0 }

// decrypt returns a reader of the database in r, which is the content of the object name.
func (k *Key) decrypt(name string, r io.Reader) (io.Reader, error) {
	switch {
	case !strings.HasSuffix(name, encryptedSuffix):
		return r, nil
	case k == nil:
		return nil, fmt.Errorf("%s is encrypted: name the file with its key with --key", name)
	case len(k.identities) == 0:
		return nil, fmt.Errorf("%s is encrypted, and the file with the key has only public keys (age1…): the private key (AGE-SECRET-KEY-1…) is needed", name)
	}
	out, err := age.Decrypt(r, k.identities...)
	var wrong *age.NoIdentityMatchError
	if errors.As(err, &wrong) {
		return nil, fmt.Errorf("%s was encrypted with another key: use the key that the server had when it wrote the backup", name)
	}
	return out, err
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
