package console

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"math"
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

// shrink writes a picture anew with 256 colours, and the nearest of them for the rest: a
// page has few, and the file a third of the bytes.
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
	palette := pickColours(count)
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

// pickColours returns the colours that most of a picture has, and then those that the
// others stand for worst: a green dot in a page full of grey letters stays green.
func pickColours(count map[color.NRGBA]int) (palette color.Palette) {
	const colours, common = 256, 128
	var most []color.NRGBA
	for c := range count {
		most = append(most, c)
	}
	slices.SortFunc(most, func(a, b color.NRGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), slices.Compare([]uint8{a.R, a.G, a.B}, []uint8{b.R, b.G, b.B}))
	})
	off := make([]int, len(most)) // how far the nearest is that was picked, squared
	for i := range off {
		off[i] = math.MaxInt32
	}
	for len(palette) < min(colours, len(most)) {
		worst := len(palette)
		if worst >= common {
			for i, c := range most {
				if off[i]*count[c] > off[worst]*count[most[worst]] {
					worst = i
				}
			}
		}
		picked := most[worst]
		palette = append(palette, picked)
		for i, c := range most {
			r, g, b := int(c.R)-int(picked.R), int(c.G)-int(picked.G), int(c.B)-int(picked.B)
			off[i] = min(off[i], r*r+g*g+b*b)
		}
	}
	return palette
}
