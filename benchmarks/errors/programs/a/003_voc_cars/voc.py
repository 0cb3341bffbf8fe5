import os
import xml.etree.ElementTree as ET

import cv2
import numpy as np

TEMPLATE = """<annotation><filename>{name}.jpg</filename>
<size><width>80</width><height>80</height><depth>3</depth></size>
{objects}</annotation>"""
BOX = """<object><name>{label}</name><difficult>0</difficult><bndbox><xmin>{0}</xmin><ymin>{1}</ymin><xmax>{2}</xmax><ymax>{3}</ymax></bndbox></object>
"""
OUTLINE = """<object><name>{label}</name><difficult>0</difficult><polygon><x1>{0}</x1><y1>{1}</y1><x2>{2}</x2><y2>{3}</y2></polygon></object>
"""
LABELS = ("car", "van", "truck")


def make_devkit(root, count=40):
    rng = np.random.default_rng(5)
    for sub in ("JPEGImages", "Annotations"):
        os.makedirs(os.path.join(root, sub))
    for i in range(count):
        name = f"2024_{i:06d}"
        image = rng.integers(0, 90, (80, 80, 3), dtype=np.uint8)
        x, y = rng.integers(2, 40, 2)
        w, h = rng.integers(16, 36, 2)
        cv2.rectangle(image, (int(x), int(y)), (int(x + w), int(y + h)), (40, 200, 90), -1)
        objects = BOX.format(x, y, x + w, y + h, label=LABELS[i % 3])
        if i == 27:
            objects += OUTLINE.format(x, y, x + 9, y + 9, label="van")
        cv2.imwrite(os.path.join(root, "JPEGImages", name + ".jpg"), image)
        with open(os.path.join(root, "Annotations", name + ".xml"), "w") as f:
            f.write(TEMPLATE.format(name=name, objects=objects))


def parse_annotation(path):
    tree = ET.parse(path).getroot()
    boxes = []
    for obj in tree.iter("object"):
        label = LABELS.index(obj.find("name").text)
        bndbox = obj.find("bndbox")
        corners = [float(bndbox.find(k).text) for k in ("xmin", "ymin", "xmax", "ymax")]
        boxes.append(corners + [label])
    return tree.find("filename").text, boxes


def load_split(root):
    images, boxes, labels = [], [], []
    folder = os.path.join(root, "Annotations")
    for xml_name in sorted(os.listdir(folder)):
        filename, objects = parse_annotation(os.path.join(folder, xml_name))
        image = cv2.imread(os.path.join(root, "JPEGImages", filename))
        images.append(image.astype("float32") / 255.0)
        biggest = max(objects, key=lambda o: (o[2] - o[0]) * (o[3] - o[1]))
        boxes.append(np.array(biggest[:4], "float32") / 80.0)
        labels.append(int(biggest[4]))
    return np.stack(images), np.stack(boxes), np.array(labels)
