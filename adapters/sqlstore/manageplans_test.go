package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sqlitedriver "modernc.org/sqlite"

	"github.com/bunting-flags/bunting/management"
)
