package database

import (
	"database/sql"
	"sync"
)

// statements are the prepared statements of a database by their text.
type statements struct {
	mu     sync.Mutex
	byText map[string]*sql.Stmt
}

// close closes all statements.
func (l *statements) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, stmt := range l.byText {
		_ = stmt.Close()
	}
	l.byText = nil
}
