package organizations

import (
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// NewProjectFields are the fields of a new project. Unlike ProjectFields, they include the
// project's key, which cannot be changed to a chosen value later.
var NewProjectFields = append(ProjectFields[:len(ProjectFields):len(ProjectFields)], tokenField...)

// maxToken is the greatest length of a project's key, which is that of capture (§3.6 of capture).
const maxToken = 64

// tokenField is the field with the key of a new project.
var tokenField = management.Fields{{
	Name: "api_token", Type: management.Text, Null: true, MaxLength: maxToken,
	Help: "the project's public key, for a project that moves here with its clients: letters, digits, - and _; made when it is not given; for owners",
}}

// readToken returns the key that the body of a new project contains, or "" if it is absent. Only
// owners may choose a key. A key that another project or user has is refused, also that of a
// deleted project.
func readToken(tx Tx, level management.Level, b management.Body) (string, error) {
	v, err := tokenField.Create(b)
	if err != nil {
		return "", err
	}
	token := v.Text("api_token")
	switch {
	case token == "":
		return "", nil
	case level < management.Owner:
		return "", management.Denied("Only an owner of the organization can choose a project's api_token.")
	case strings.Trim(token, tokenAlphabet) != "":
		return "", management.Fault("api_token", "A project's key has letters, digits, - and _ only.")
	case strings.HasPrefix(token, "phx_"), strings.HasPrefix(token, "phs_"):
		return "", management.Fault("api_token", "A project's key is public and does not begin with %s, as personal and secret keys do.", token[:4])
	}
	key, err := tx.Key(management.HashKey(token))
	if err == nil && key != nil {
		err = errDuplicateToken()
	}
	return token, err
}

// tokenAlphabet has the characters that a project's key may contain.
const tokenAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// errDuplicateToken is the error for a key that is in use or was used by a deleted project.
func errDuplicateToken() error {
	return management.CodedFault(management.CodeUnique, "api_token", "Another project has this key, or had it.")
}
