"""Small meshes under storms and faults, held against what one ideal broker would have done."""
