package httpd

import (
	"encoding/csv"
	"net/http"
	"strings"
)

// WriteCSV writes a table as a file, its first row the names of the columns.
func WriteCSV(w http.ResponseWriter, file string, columns []string, rows [][]string) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+file+`"`)
	out := csv.NewWriter(w)
	out.Write(columns) //nolint:errcheck // the reader may be gone
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = harmlessCell(cell)
		}
		out.Write(cells) //nolint:errcheck // as above
	}
	out.Flush()
}

// harmlessCell keeps spreadsheets from taking what somebody wrote for a formula.
func harmlessCell(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
