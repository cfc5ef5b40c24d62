package database

// Shape says how the tables of a database differ from those that this program makes. That of a database of our own is the
// zero Shape.
type Shape struct {
	// Adopted: erupt's tables were there before ours. They are never altered, and passwords keep a form that erupt reads.
	Adopted bool
	// Missing names for a table, in lower case, the columns that we know and it lacks, in lower case. What such a column
	// would hold is its zero value.
	Missing map[string][]string
	// Absent are tables of erupt's that we know and the database lacks.
	Absent []string
	// Generation is the version of erupt that made the tables, as far as the columns tell: 1.12, 2.0 or 2.3.
	Generation string
	// UserTables are tables of erupt's that we do not keep and whose rows go with a user; each has his id in the column id.
	UserTables []string
}

// Lacks reports whether a table has no such column. Both names are in lower case.
func (s Shape) Lacks(table, column string) bool {
	for _, c := range s.Missing[table] {
		if c == column {
			return true
		}
	}
	return false
}
