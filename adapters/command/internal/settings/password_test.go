package settings

import "testing"

// The password of a database is hidden, whatever its position in the address.
func TestWithoutPassword(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://bunting@db/x":                                     "postgres://bunting@db/x",
		"postgres://bunting:secret@db/x":                              "postgres://bunting:***@db/x",
		"postgres://db/x?user=bunting&password=secret":                "postgres://db/x?user=bunting&password=***",
		"postgres://b:secret@db/x?sslmode=require&sslpassword=secret": "postgres://b:***@db/x?sslmode=require&sslpassword=***",
		"postgres://db/x?PASSWORD=secret&a=b":                         "postgres://db/x?PASSWORD=***&a=b",
		`host=db password='se cr\'et' user=b`:                         `host=db password=*** user=b`,
		"host=db password=secret user=b":                              "host=db password=*** user=b",
		"bunting-data":                                                "bunting-data",
	} {
		if got := WithoutPassword(text); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}
