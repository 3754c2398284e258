package console

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/chromedp"
)

// picture keeps what the window shows for the documents.
func (b *tab) picture(name string) {
	b.T.Helper()
	if !*pictures {
		return
	}
	path := filepath.Join("..", "..", "docs", "images", name+".png")
	b.Save(path, chromedp.CaptureScreenshot())
	if err := shrink(path); err != nil {
		b.T.Fatal(err)
	}
}

// shrink writes a picture anew with the 256 colours that most of it has, and the
// nearest of them for the rest: a page has few, and the file a third of the bytes.
func shrink(path string) error {
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	full, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return err
	}
	box := full.Bounds()
	count := map[color.NRGBA]int{}
	at := func(x, y int) color.NRGBA { return color.NRGBAModel.Convert(full.At(x, y)).(color.NRGBA) }
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	var most []color.NRGBA
	for c := range count {
		most = append(most, c)
	}
	slices.SortFunc(most, func(a, b color.NRGBA) int { return cmp.Compare(count[b], count[a]) })
	var palette color.Palette
	for _, c := range most[:min(256, len(most))] {
		palette = append(palette, c)
	}
	nearest := map[color.NRGBA]uint8{}
	small := image.NewPaletted(box, palette)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c := at(x, y)
			i, ok := nearest[c]
			if !ok {
				i = uint8(palette.Index(c))
				nearest[c] = i
			}
			small.SetColorIndex(x, y, i)
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
